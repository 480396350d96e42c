#!/usr/bin/env bash
# Builds the examples embed_gemm and embed_gemm_c as an application would, and runs them: what the first
# has stored, the others find. From the sources it builds the shared library, which it leaves in
# BUILD_FOLDER/tests/sources for other tests.
# usage: embed_test.sh "from its build tree"|"from an installed prefix"|"by pkg-config"|"from its sources"
#        BUILD_FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
way=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configure FOLDER_OF_SOURCES FOLDER CMAKE_OPTION...
configure() {
  # -O0 and unity, since the sources' way compiles all of it once more.
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_UNITY_BUILD=ON "${@:3}" >/dev/null
}
# build_installed NAME: the example, with autotune from the prefix.
build_installed() {
  configure "$root/examples/$1" "$scratch/$1" -DCMAKE_PREFIX_PATH="$scratch/prefix"
  cmake --build "$scratch/$1" >/dev/null
  programs+=("$scratch/$1/$1")
}
# check_settings FOLDER: the library left those to the project that it is a part of.
check_settings() {
  local cache=$1/CMakeCache.txt
  grep -qx 'CMAKE_BUILD_TYPE:[A-Z]*=' "$cache" || { echo "it chose the build type"; exit 1; }
  ! grep '^CLI11_DIR' "$cache" || { echo "the library alone looked for CLI11"; exit 1; }
  [[ ! -e $1/compile_commands.json ]] || { echo "its settings leaked"; exit 1; }
}
programs=()

case $way in
  "from its build tree")
    programs=("$build"/examples/embed_gemm/embed_gemm "$build"/examples/embed_gemm_c/embed_gemm_c)
    ;;
  "from an installed prefix")
    cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
    "$scratch/prefix/bin/autotune" --help >/dev/null
    build_installed embed_gemm
    build_installed embed_gemm_c
    licences=$(find "$scratch/prefix" -name copyright)
    [[ $(wc -l <<< "$licences") -eq 3 ]] || { echo "not every component has its licence: $licences"; exit 1; }
    while read -r licence; do
      for name in nlohmann-json SQLiteCpp xxHash zstd fmt CLI11 Boost.Context SQLite Chart.js zlib; do
        grep -qF "$name" "${licence%/*}/THIRD_PARTY" || { echo "there is no notice of $name by $licence"; exit 1; }
      done
    done <<< "$licences"
    for file in man/man1/autotune.1 man/man1/autotune-tune.1 bash-completion/completions/autotune \
        zsh/site-functions/_autotune fish/vendor_completions.d/autotune.fish; do
      [[ -s $scratch/prefix/share/$file ]] || { echo "$file is not installed"; exit 1; }
    done
    ;;
  "by pkg-config")
    command -v pkg-config >/dev/null || { echo "SKIPPED: no pkg-config"; exit 0; }
    cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
    PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name autotune.pc)")
    export PKG_CONFIG_PATH
    read -ra flags < <(pkg-config --static --cflags --libs autotune)
    configure "$root" "$scratch/absolute" -DAUTOTUNE_BUILD_{PROGRAM,TESTS,EXAMPLES}=OFF \
      -DCMAKE_INSTALL_INCLUDEDIR=/opt/inc -DCMAKE_INSTALL_LIBDIR=/opt/x/lib64
    found=$(pkg-config --cflags --libs "$scratch/absolute/autotune.pc" | xargs)
    [[ $found == "-I/opt/inc -L/opt/x/lib64 -lautotune" ]] || { echo "of absolute folders: $found"; exit 1; }
    "${CXX:-c++}" -std=c++17 "$root/examples/embed_gemm/main.cpp" -o "$scratch/in_cpp" "${flags[@]}"
    "${CC:-cc}" -std=c11 "$root/examples/embed_gemm_c/main.c" -o "$scratch/in_c" "${flags[@]}"
    programs=("$scratch/in_cpp" "$scratch/in_c")
    ;;
  "from its sources")
    # In projects that choose no build type. FetchContent calls add_subdirectory, so one of the two is built.
    configure "$root/examples/embed_gemm" "$scratch/added" -DAUTOTUNE_SOURCE_DIR="$root" -DCMAKE_BUILD_TYPE=
    check_settings "$scratch/added"
    cmake --build "$scratch/added" --target embed_gemm -- -n >/dev/null
    sources=$build/tests/sources
    rm -rf "$sources"
    configure "$root/tests/package/fetch_content" "$sources" -DFETCHCONTENT_SOURCE_DIR_AUTOTUNE="$root" \
      -DAUTOTUNE_INSTALL=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=
    check_settings "$sources"
    cmake --build "$sources" --target embed_gemm >/dev/null
    programs=("$sources/embed_gemm/embed_gemm")
    ;;
  *)
    echo "there is no way '$way'"
    exit 1
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
