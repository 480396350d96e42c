#!/usr/bin/env bash
# scripts/autotune and scripts/test name the NVRTC that scripts/setup has installed as wheels, and
# heed one that is named already. All that they start here are stubs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset AUTOTUNE_NVRTC

mkdir -p "$scratch"/{scripts,bin,build/release,build/dev}
cp "$root"/scripts/{autotune,test} "$scratch/scripts"
# The output of ctest precedes the report, which is empty here.
printf '#!/bin/sh\necho "${AUTOTUNE_NVRTC-none}"\n' > "$scratch/bin/ctest"
printf '#!/bin/sh\n' > "$scratch/scripts/setup"
cp "$scratch/bin/ctest" "$scratch/build/release/autotune"
cp "$scratch/scripts/setup" "$scratch/bin/cmake"
chmod +x "$scratch"/{bin/ctest,bin/cmake,scripts/setup,build/release/autotune}
export PATH=$scratch/bin:$PATH

expect() {
  local script found
  for script in autotune test; do
    found=$({ "$scratch/scripts/$script" 2>/dev/null || true; } | head -n 1)
    [[ $found == "$1" ]] || { echo "scripts/$script: NVRTC is $found, not $1"; exit 1; }
  done
}
expect none
library=$scratch/.deps/cuda/nvidia/cu13/lib/libnvrtc.so.13
mkdir -p "$(dirname "$library")"
touch "$library"
expect "$library"
AUTOTUNE_NVRTC=/of/the/user expect /of/the/user
