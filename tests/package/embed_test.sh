#!/usr/bin/env bash
# Builds the example embed_gemm as an application would, and runs it twice: the second time it finds
# what the first has stored. usage: embed_test.sh "build tree"|"installed prefix"|sources BUILD_FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
way=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build_example() {
  # -O0 and unity, since the sources' way compiles all of it once more.
  cmake -S "$root/examples/embed_gemm" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_UNITY_BUILD=ON "$@" >/dev/null
  cmake --build "$scratch/build" --target embed_gemm >/dev/null
  program=$scratch/build/embed_gemm
}

case $way in
  "build tree")
    program=$build/examples/embed_gemm/embed_gemm
    ;;
  "installed prefix")
    cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
    "$scratch/prefix/bin/autotune" --help >/dev/null
    build_example -DCMAKE_PREFIX_PATH="$scratch/prefix"
    ;;
  sources)
    # As a shared library here, and in a project that chooses no build type.
    build_example -DAUTOTUNE_SOURCE_DIR="$root" -DAUTOTUNE_INSTALL=ON -DBUILD_SHARED_LIBS=ON \
      -DCMAKE_BUILD_TYPE=
    cache=$scratch/build/CMakeCache.txt
    grep -qx 'CMAKE_BUILD_TYPE:[A-Z]*=' "$cache" || { echo "it chose the build type"; exit 1; }
    ! grep '^CLI11_DIR' "$cache" || { echo "the library alone looked for CLI11"; exit 1; }
    [[ ! -e $scratch/build/compile_commands.json ]] || { echo "its settings leaked"; exit 1; }
    "$root/tests/package/shared_library_test.sh" "$scratch/build/autotune"
    ;;
esac

if ldd "$program" | grep -E 'libcuda|libnvrtc'; then
  echo "the program links the driver or NVRTC"
  exit 1
fi
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache
for _ in 1 2; do
  line=$("$program")
  echo "$line"
  [[ $line == "70x33x51 on cpu: "*", exact: 306" ]]
done
