#!/usr/bin/env bash
# The static library may be used before main() and at exit: none of its objects is initialised when the
# program starts, so the order in which they are linked does not matter. It takes little of threads' stacks.
# usage: static_library_test.sh LIBRARY APPLICATION
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache

# Sections, since compilers name the functions in them differently (_GLOBAL__sub_I_*, __cxx_global_var_init).
readelf --sections --wide "$1" > "$scratch/sections"
grep -q ' \.text' "$scratch/sections" || { echo "$1 has no code"; exit 1; }
initialised=$(awk '/^File:/ { file = $2 } / \.(init_array|fini_array|ctors|dtors)/ { print file }' "$scratch/sections")
[[ -z $initialised ]] || { echo "initialised at the start: $initialised"; exit 1; }
# Each thread of an application, used for the library or not, has its thread-local memory on its stack.
local_bytes=$(readelf --program-headers --wide "$2" | awk '$1 == "TLS" { print $6 }')
((local_bytes > 0 && local_bytes < 4096)) || { echo "each thread loses ${local_bytes:-no} bytes"; exit 1; }
"$2"
