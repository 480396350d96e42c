#!/usr/bin/env bash
# Installs the build into a folder of its own, runs the program from there, and builds and runs a
# consumer against it. usage: installed_test.sh BUILD_FOLDER
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
"$scratch/prefix/bin/autotune" --help >/dev/null
if ldd "$scratch/prefix/bin/autotune" | grep -E 'libcuda|libnvrtc'; then
  echo "the program links the driver or NVRTC"
  exit 1
fi
cmake -S "$source_dir/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/build" >/dev/null
"$scratch/build/consumer"
