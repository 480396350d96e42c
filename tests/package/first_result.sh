#!/usr/bin/env bash
# Installs the program's .deb and unpacks the tarball, as the preset `packages` makes them, and with each
# tunes a size on a machine that need not have anything else: no network, compiler, toolkit or library
# besides libc is used, except for a GPU's driver and NVRTC, or for the CPU device a C++ compiler.
# Prints the seconds that each took until its first result. The .deb needs root, and is removed again.
# usage: first_result.sh FOLDER [OPTION]...    (FOLDER has the packages; the options go to autotune)
set -euo pipefail
packages=$(realpath "$1")
options=("${@:2}")
((${#options[@]} > 0)) || options=(--sizes 512 --budget 5s)
shopt -s nullglob
debs=("$packages"/autotune_*.deb) tarballs=("$packages"/autotune-*.tar.gz)
((${#debs[@]} == 1 && ${#tarballs[@]} == 1)) || { echo "$packages: not one .deb and one tarball"; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
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
dpkg -i "${debs[0]}"
first_result ".deb" "$start" autotune
dpkg -r autotune
start=$(now)
tar -x -z -f "${tarballs[0]}" -C "$scratch"
programs=("$scratch"/*/bin/autotune)
first_result "tarball" "$start" "${programs[0]}"
