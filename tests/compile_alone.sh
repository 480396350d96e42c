#!/usr/bin/env bash
# Compiles each file of the program and the library alone, which finds a missing include: the other
# builds compile several files at a time, and one of them then has another's. Left out are files that
# the build writes, and those that the preset dev compiles first of several or by themselves: that build
# finds what they lack. Nothing is written but what the compiler says.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset plain >/dev/null
cmake --preset dev >/dev/null
python3 - build/plain/compile_commands.json build/dev/compile_commands.json <<'PYTHON' |
import json
import pathlib
import re
import sys
each, several = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:])
first = set()
for entry in several:
    file = entry["file"]
    found = re.search('#include "(.*)"', pathlib.Path(file).read_text()) if "/Unity/" in file else None
    first.add(found[1] if found else file)
for entry in each:
    if entry["file"] in first or re.search("/(tests|examples|benchmarks|build)/", entry["file"]):
        continue
    command = re.sub(r"^\S*ccache ", "", entry["command"])
    command = re.sub(r" -o \S+ -c ", " -fsyntax-only ", command)
    print(f"cd '{entry['directory']}' && {command}", end="\0")
PYTHON
  xargs -0 -n 1 -P "$(nproc)" sh -c
