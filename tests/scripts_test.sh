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

# The first build counts its steps where that is asked for, and the log has all of its lines.
printf '#!/bin/sh\necho "[1/2] one"\necho "[2/2] two"\n' > "$scratch/bin/cmake"
said=$("$scratch/scripts/autotune" --progress=plain 2>&1 >/dev/null)
[[ $said == *"building: 1 of 2 steps"* ]] || { echo "the build does not count its steps: $said"; exit 1; }
grep -q '^\[2/2\] two' "$scratch/build/release/build.log" || { echo "the log lacks a line"; exit 1; }
said=$("$scratch/scripts/autotune" 2>&1 >/dev/null)
[[ $said != *steps* ]] || { echo "the build counts its steps in a file: $said"; exit 1; }
printf '#!/bin/sh\necho "error: no"\nexit 1\n' > "$scratch/bin/cmake"
if said=$("$scratch/scripts/autotune" 2>&1); then echo "a failed build ran the program"; exit 1; fi
[[ $said == *"error: no"*"the build failed"* ]] || { echo "a failed build says: $said"; exit 1; }

# Without apt-get, scripts/setup names what is missing and how to build.
cp "$root/scripts/setup" "$scratch/scripts"
mkdir "$scratch/few"
for tool in bash cat dirname grep; do ln -s "$(command -v $tool)" "$scratch/few/$tool"; done
if said=$(PATH=$scratch/few "$scratch/scripts/setup" 2>&1); then
  echo "a setup without apt-get ends well"; exit 1
fi
[[ $said != *doctest* ]] || { echo "a setup without --tests wants doctest"; exit 1; }
[[ $(PATH=$scratch/few "$scratch/scripts/setup" --tests 2>&1 || true) == *doctest* ]] ||
  { echo "a setup with --tests does without doctest"; exit 1; }
for part in "there is no apt-get here" "libsqlitecpp-dev" "cmake --build --preset release"; do
  [[ $said == *"$part"* ]] || { echo "a setup without apt-get says: $said"; exit 1; }
done
[[ $said != *"not found"* ]] || { echo "a setup without apt-get says: $said"; exit 1; }

# scripts/setup makes what CMake wants of wheels, also of those that an older one has installed.
cp "$root/scripts/setup" "$scratch/scripts"
runtime=.deps/cuda/nvidia/runtime
printf '#!/bin/sh\nprintf "install ok installed"\n' > "$scratch/bin/dpkg-query"
printf '#!/bin/sh\necho "$*" >> pip.log\nmkdir -p %s/lib\ncd %s/lib\ntouch libcudart.so.12 libcudart.so.13\n' \
  $runtime $runtime > "$scratch/bin/python3"
chmod +x "$scratch"/bin/{dpkg-query,python3}
for wheels in new old; do
  AUTOTUNE_SETUP_IGNORE_TOOLKIT=1 "$scratch/scripts/setup" 2>/dev/null
  for file in lib/libcudart.so version.txt; do
    rm "$scratch/$runtime/$file" || { echo "$wheels wheels lack $file"; exit 1; }
  done
done
# It takes wheels of known content alone.
grep -q -e "install .*--require-hashes .*-r scripts/wheels-1[23]\.txt" "$scratch/pip.log" ||
  { echo "scripts/setup takes other wheels: $(<"$scratch/pip.log")"; exit 1; }
