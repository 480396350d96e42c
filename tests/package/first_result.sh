#!/usr/bin/env bash
# Installs the program's .deb and unpacks the tarball, as the preset `packages` makes them, and with each
# tunes a size on a machine that need not have anything else: no network, compiler, toolkit or library
# besides libc is used, except for a GPU's driver and NVRTC, or for the CPU device a C++ compiler.
# Prints the seconds that each took until its first result. Then it installs the .deb files of the library,
# and builds and runs the example in C++ by find_package and the one in C by pkg-config, where these tools
# and a compiler are. The .deb files need root, and are removed again, also after a failure.
# usage: first_result.sh FOLDER [OPTION]...    (FOLDER has the packages; the options go to autotune)
set -euo pipefail
examples=$(realpath "$(dirname "$0")/../../examples")
packages=$(realpath "$1")
options=("${@:2}")
((${#options[@]} > 0)) || options=(--sizes 512 --budget 5s)
shopt -s nullglob
debs=("$packages"/autotune_*.deb) tarballs=("$packages"/autotune-*.tar.gz)
libraries=("$packages"/libautotune{[0-9]*,-dev}_*.deb)
((${#debs[@]} == 1 && ${#tarballs[@]} == 1 && ${#libraries[@]} == 2)) ||
  { echo "$packages: not three .deb files and one tarball"; exit 1; }
scratch=$(mktemp -d)
installed=()
# install_debs FILE...
install_debs() {
  local deb
  for deb in "$@"; do installed+=("$(dpkg-deb --field "$deb" Package)"); done
  dpkg -i "$@"
}
remove_debs() {
  ((${#installed[@]} == 0)) || dpkg -r "${installed[@]}"
  installed=()
}
trap 'rm -rf "$scratch"; remove_debs' EXIT
unset AUTOTUNE_DB
export XDG_DATA_HOME=$scratch/data XDG_CACHE_HOME=$scratch/cache

# Milliseconds of a clock that only goes forward.
now() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
# first_result NAME START PROGRAM: an answer without a device, then the first tuned size.
first_result() {
  local output
  "$3" query --device "NVIDIA H200" --sizes 2048 | grep -q ' exact ' || { echo "$1: no answer"; exit 1; }
  echo "$1: the first answer after $(($(now) - $2)) ms"
  output=$("$3" "${options[@]}")
  echo "$output"
  grep -q ' [1-9][0-9]* measured\|^[1-9][0-9]* measured' <<<"$output" || { echo "$1: nothing was measured"; exit 1; }
  echo "$1: the first tuned size after $(($(now) - $2)) ms"
  rm -rf "$XDG_DATA_HOME" "$XDG_CACHE_HOME"
}

grep ^PRETTY_NAME /etc/os-release
start=$(now)
install_debs "${debs[0]}"
first_result ".deb" "$start" autotune
remove_debs
start=$(now)
tar -x -z -f "${tarballs[0]}" -C "$scratch"
programs=("$scratch"/*/bin/autotune)
first_result "tarball" "$start" "${programs[0]}"

# has TOOL...: all of them. Otherwise it says which one is missing.
has() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; return 1; }
  done
}
[[ -d $examples ]] || { echo "SKIPPED: no examples beside this script"; exit 0; }
install_debs "${libraries[@]}"
if has c++ cmake ninja; then
  cmake -S "$examples/embed_gemm" -B "$scratch/build" -G Ninja >/dev/null
  cmake --build "$scratch/build" >/dev/null
  "$scratch/build/embed_gemm"
fi
if has c++ cc pkg-config; then  # the CPU device compiles C++
  read -ra flags < <(pkg-config --cflags --libs autotune)
  cc -std=c11 "$examples/embed_gemm_c/main.c" -o "$scratch/in_c" "${flags[@]}"
  "$scratch/in_c"
fi
