#!/usr/bin/env bash
# Holds the modules to the direction that CMakeLists.txt gives them, CUDA to src/gpu, SQLite to db,
# and the tree free of paths of one machine and of left-over marks.
set -uo pipefail
cd "$(dirname "$0")/.."
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

# The include prefix of each module.
declare -A prefix=([core]=core [gpu]=gpu [host]=host [db]=db [kernel_templates]=kernel_templates
                   [tuner]=tuner [gemm]=gemm [cli]=cli)

while read -r module folder allowed; do
  for other in "${!prefix[@]}"; do
    [[ " $module $allowed " == *" $other "* ]] && continue
    while IFS= read -r line; do fail "$line: $module may not use $other"; done \
      < <(grep -rnE "#include \"${prefix[$other]}/" "$folder" --include=*.cpp --include=*.hpp)
  done
done < <(sed -nE 's/^autotune_module\(([a-z_]+) ([a-z_/]+) DEPENDS ?([a-z_ ]*)\)/\1 \2 \3/p' CMakeLists.txt)

sources=(include src kernel_templates tuner db)
while IFS= read -r line; do fail "$line: only src/gpu sees CUDA's headers"; done \
  < <(grep -rnE '#include <(cuda|cudaTypedefs|nvrtc|cublas[a-z_0-9]*|nvml)\.h>' "${sources[@]}" | grep -v '^src/gpu/')
while IFS= read -r line; do fail "$line: only db sees SQLite"; done \
  < <(grep -rnE '#include <(sqlite3\.h|SQLiteCpp/.*)>' "${sources[@]}" | grep -vE '^(db/|src/cli/version_text\.cpp)')
while IFS= read -r line; do fail "$line: public headers include the standard library and each other"; done \
  < <(grep -rnE '#include' include | grep -vE '#include (<[a-z_]+>|"autotune/)')
if git rev-parse >/dev/null 2>&1; then
  while IFS= read -r line; do fail "$line: a path of one machine, or a left-over mark"; done \
    < <(git grep -nIE '/(work|root)/|TODO|FIXME|\bXXX\b' -- . ':!tests/check_includes.sh' | cut -c1-120)
fi
[[ $failures -eq 0 ]] && echo "includes are as they should be"
exit $((failures > 0))
