#!/usr/bin/env bash
# Applications that a compiler built, whichever built the shared libautotune: they catch its exceptions by
# type, use it before main() and at exit, or have no exceptions.
# usage: application_test.sh COMPILER BUILD_FOLDER_WITH_LIBRARY
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$1
build=$2
command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache

"$compiler" -std=c++17 -DAUTOTUNE_SHARED -fvisibility=hidden -I "$root/include" -I "$build/include" \
  "$root/tests/package/application.cpp" -o "$scratch/application" -L "$build" -lautotune -Wl,-rpath,"$build"
"$scratch/application"
# The C API for C++17 without exceptions, in which none may arrive.
"$compiler" -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror -I "$root/include" \
  "$root/tests/package/without_exceptions.cpp" -o "$scratch/without" -L "$build" -lautotune -Wl,-rpath,"$build"
"$scratch/without"
