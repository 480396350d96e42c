#!/usr/bin/env bash
# Applications find in a shared libautotune: the public API and nothing else, no path of the folders
# that it was built in, and no need of other libraries' packages.
# usage: shared_library_test.sh BUILD_FOLDER_WITH_LIBRARY
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
library=$build/libautotune.so
failed=0

fail() {
  echo "$1"
  failed=1
}

# Besides the library's own: the typeinfo and tables of its exceptions, and the version's name.
symbols=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
others=$(grep -vE '^(autotune::|(typeinfo|typeinfo name|vtable) for autotune::|autotune_[a-z_]+@@AUTOTUNE_1$|AUTOTUNE_[0-9.]+$)' \
  <<< "$symbols" || true)
[[ -z $others ]] || fail "exported, but not autotune's: $others"
# Each function and class of the API is in a public header.
while read -r name; do
  grep -qE "\b$name\b" "$root"/include/autotune/*.hpp "$build"/include/autotune/*.hpp || fail "exported, but not public: $name"
done < <(sed -nE 's/^.*\bautotune::([A-Za-z_]+).*$/\1/p' <<< "$(sed 's/(.*//' <<< "$symbols")" | sort -u)
while read -r name; do
  grep -qE "\b$name\(" "$root/include/autotune/autotune.h" || fail "exported, but not public: $name"
done < <(sed -nE 's/^(autotune_[a-z_]+)@@.*$/\1/p' <<< "$symbols")
# Each function of the C API is exported, with its version.
while read -r name; do
  grep -qxF "$name@@AUTOTUNE_1" <<< "$symbols" || fail "not exported: $name"
done < <(grep -oE "\bautotune_[a-z_]+\(" "$root/include/autotune/autotune.h" | tr -d '(' | sort -u)
for name in 'autotune_gemm@@AUTOTUNE_1' 'autotune::Library::gemm(' 'autotune::Configuration::parse(' 'autotune::to_string[' \
    'typeinfo for autotune::UsageError' 'typeinfo for autotune::StorageError'; do
  grep -qF "$name" <<< "$symbols" || fail "not exported: $name"
done

if strings "$library" | grep -F "$root"; then fail "the library knows the folder of its sources"; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db
# The C API for C11.
"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$root/include" \
  "$root/examples/embed_gemm_c/main.c" -o "$scratch/in_c" -L "$build" -lautotune -Wl,-rpath,"$build"
"$scratch/in_c" >/dev/null || fail "the application in C failed"

# Installed, it is found and linked where the packages of what is in it are not.
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S "$root/examples/embed_gemm" -B "$scratch/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_{fmt,SQLite3,SQLiteCpp,Boost}=ON \
  >/dev/null 2>&1  # it warns that these were not looked for
cmake --build "$scratch/build" >/dev/null
"$scratch/build/embed_gemm" >/dev/null || fail "embed_gemm failed with the installed library"
[[ $failed -eq 0 ]]
