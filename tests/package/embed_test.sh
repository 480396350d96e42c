#!/usr/bin/env bash
# Builds the examples embed_gemm and embed_gemm_c as an application would, and runs them: what the first
# has stored, the others find. usage: embed_test.sh "build tree"|"installed prefix"|sources BUILD_FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
way=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# build_example NAME CMAKE_OPTION...
build_example() {
  # -O0 and unity, since the sources' way compiles all of it once more.
  local name=$1
  shift
  cmake -S "$root/examples/$name" -B "$scratch/$name" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_UNITY_BUILD=ON "$@" >/dev/null
  cmake --build "$scratch/$name" --target "$name" >/dev/null
  programs+=("$scratch/$name/$name")
}
programs=()

case $way in
  "build tree")
    programs=("$build"/examples/embed_gemm/embed_gemm "$build"/examples/embed_gemm_c/embed_gemm_c)
    ;;
  "installed prefix")
    cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
    "$scratch/prefix/bin/autotune" --help >/dev/null
    build_example embed_gemm -DCMAKE_PREFIX_PATH="$scratch/prefix"
    build_example embed_gemm_c -DCMAKE_PREFIX_PATH="$scratch/prefix"
    [[ -e $(find "$scratch/prefix" -path "*autotune/copyright") ]] || { echo "no licence is installed"; exit 1; }
    if command -v pkg-config >/dev/null; then
      PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name autotune.pc)")
      export PKG_CONFIG_PATH
      read -ra flags < <(pkg-config --static --cflags --libs autotune)
      "${CC:-cc}" -std=c11 "$root/examples/embed_gemm_c/main.c" -o "$scratch/by_pkg_config" "${flags[@]}"
      programs+=("$scratch/by_pkg_config")
    fi
    for file in man/man1/autotune.1 man/man1/autotune-tune.1 bash-completion/completions/autotune \
        zsh/site-functions/_autotune fish/vendor_completions.d/autotune.fish; do
      [[ -s $scratch/prefix/share/$file ]] || { echo "$file is not installed"; exit 1; }
    done
    ;;
  sources)
    # As a shared library here, and in a project that chooses no build type.
    build_example embed_gemm -DAUTOTUNE_SOURCE_DIR="$root" -DAUTOTUNE_INSTALL=ON -DBUILD_SHARED_LIBS=ON \
      -DCMAKE_BUILD_TYPE=
    cache=$scratch/embed_gemm/CMakeCache.txt
    grep -qx 'CMAKE_BUILD_TYPE:[A-Z]*=' "$cache" || { echo "it chose the build type"; exit 1; }
    ! grep '^CLI11_DIR' "$cache" || { echo "the library alone looked for CLI11"; exit 1; }
    [[ ! -e $scratch/embed_gemm/compile_commands.json ]] || { echo "its settings leaked"; exit 1; }
    "$root/tests/package/shared_library_test.sh" "$scratch/embed_gemm/autotune"
    ;;
esac

for program in "${programs[@]}"; do
  if ldd "$program" | grep -E 'libcuda|libnvrtc'; then
    echo "the program links the driver or NVRTC"
    exit 1
  fi
done
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache
for program in "${programs[@]}" "${programs[0]}"; do
  line=$("$program")
  echo "$line"
  [[ $line == "70x33x51 on cpu: "*", exact: 306" ]]
done
