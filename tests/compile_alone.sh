#!/usr/bin/env bash
# Compiles each file of the program and the library alone, which finds a missing include: the other
# builds compile several files at a time, and one of them then has another's. Files that the build
# writes are left out. Nothing is written but what the compiler says.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset plain >/dev/null
python3 - build/plain/compile_commands.json <<'PYTHON' | xargs -0 -n 1 -P "$(nproc)" sh -c
import json
import re
import sys
for entry in json.load(open(sys.argv[1])):
    if re.search("/(tests|examples|benchmarks|build)/", entry["file"]):
        continue
    command = re.sub(r"^\S*ccache ", "", entry["command"])
    command = re.sub(r" -o \S+ -c ", " -fsyntax-only ", command)
    print(f"cd '{entry['directory']}' && {command}", end="\0")
PYTHON
