#!/usr/bin/env bash
# Holds the modules to the direction that CMakeLists.txt gives them, CUDA to src/base/gpu, SQLite to db,
# and the tree free of paths of one machine and of left-over marks.
set -uo pipefail
cd "$(dirname "$0")/.."
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

# The prefix of a folder's files in includes.
prefix_of() { sed -E 's#^src/(base|app)/##' <<<"$1"; }

declare -A prefix=()
modules=$(sed -nE 's/^autotune_module\(([a-z_]+) ([a-z_/]+) DEPENDS ?([a-z_ ]*)\)/\1 \2 \3/p' CMakeLists.txt)
while read -r module folder _; do prefix[$module]=$(prefix_of "$folder"); done <<<"$modules"
# The lines of a module's own files: not those of a module within its folder.
includes_in() {
  local nested
  nested=$(awk -v folder="$1/" 'index($2, folder) == 1 { print "^" $2 "/" }' <<<"$modules")
  grep -rnE "$2" "$1" --include=*.cpp --include=*.hpp | grep -vE "${nested:-^$}"
}

while read -r module folder allowed; do
  for other in "${!prefix[@]}"; do
    [[ " $module $allowed " == *" $other "* ]] && continue
    while IFS= read -r line; do fail "$line: $module may not use $other"; done \
      < <(includes_in "$folder" "#include \"${prefix[$other]}/")
  done
  [[ " $module $allowed " == *" run "* ]] && continue
  while IFS= read -r line; do fail "$line: $module may not use the tuner"; done \
    < <(includes_in "$folder" '#include "tuner/[a-z_]+\.hpp')
done <<<"$modules"

sources=(include src kernel_templates tuner db)
while IFS= read -r line; do fail "$line: only src/base/gpu sees CUDA's headers"; done \
  < <(grep -rnE '#include <(cuda|cudaTypedefs|nvrtc|cublas[a-z_0-9]*|nvml)\.h>' "${sources[@]}" | grep -vE '^src/(base/gpu|app/source_export/text)/')
while IFS= read -r line; do fail "$line: only db sees SQLite"; done \
  < <(grep -rnE '#include <(sqlite3\.h|SQLiteCpp/.*)>' "${sources[@]}" | grep -vE '^(db/|src/app/cli/version_text\.cpp)')
while IFS= read -r line; do fail "$line: public headers include the standard library and each other"; done \
  < <(grep -rnE '#include' include | grep -vE '#include (<[a-z_]+>|<std[a-z]+\.h>|"autotune/)')
# Where nothing is inlined, the linker would take one destructor for both.
while IFS= read -r name; do fail "$name: two classes have this name"; done \
  < <(find "${sources[@]}" -name '*.hpp' -exec awk '
        /^namespace .*\{/ { space = $2 }
        /^(class|struct) .*\{$/ { print space "::" ($2 == "AUTOTUNE_API" ? $3 : $2) }' {} + |
      sort | uniq -d)
if git rev-parse >/dev/null 2>&1; then
  while IFS= read -r line; do fail "$line: a path of one machine, or a left-over mark"; done \
    < <(git grep -nIE '/(work|root)/|TODO|FIXME|\bXXX\b' -- . ':!tests/check_includes.sh' | cut -c1-120)
fi
[[ $failures -eq 0 ]] && echo "includes are as they should be"
exit $((failures > 0))
