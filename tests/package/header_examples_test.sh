#!/usr/bin/env bash
# The examples at the beginning of the public headers compile as they stand there.
# usage: header_examples_test.sh BUILD_FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$root/include" -I "$1/include")

# Prints the lines of a header's first comment that are indented as code is.
example_in() {
  sed -nE -e '/^(#pragma once| \*\/)/q' -e "s/^(\/\/| \*) {$2}([^ ].*|  .*)$/\2/p" "$root/include/autotune/$1"
}

example_in autotune.hpp 3 > "$scratch/example.inc"
grep -q 'library.gemm(' "$scratch/example.inc" || { echo "autotune.hpp has no example"; exit 1; }
cat > "$scratch/example.cpp" <<END
#include "autotune/autotune.hpp"
void run(const float* a, const float* b, float* c, autotune::Stream stream) {
#include "$scratch/example.inc"
}
END
"${CXX:-c++}" -std=c++17 "${flags[@]}" "$scratch/example.cpp"

example_in autotune.h 5 > "$scratch/example.inc"
grep -q 'autotune_gemm(' "$scratch/example.inc" || { echo "autotune.h has no example"; exit 1; }
cat > "$scratch/example.c" <<END
#include "autotune/autotune.h"
#include <stdio.h>
void run(const float *a, const float *b, float *c, autotune_stream stream);
void run(const float *a, const float *b, float *c, autotune_stream stream) {
#include "$scratch/example.inc"
}
END
"${CC:-cc}" -std=c99 "${flags[@]}" "$scratch/example.c"
