#!/usr/bin/env bash
# Holds the modules to the direction that CMakeLists.txt gives them, CUDA to base/gpu, SQLite to db,
# and the tree free of paths of one machine and of left-over marks.
set -uo pipefail
cd "$(dirname "$0")/.."
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

# The prefix of a folder's files in includes.
prefix_of() { sed -E 's#^(src|base)/##' <<<"$1"; }

declare -A prefix=()
modules=$(sed -nE 's/^ *autotune_module\(([a-z_]+) ([a-z_/]+) DEPENDS ?([a-z_ ]*)\)/\1 \2 \3/p' CMakeLists.txt)
while read -r module folder _; do prefix[$module]=$(prefix_of "$folder"); done <<<"$modules"
# The floor of a folder: everything is built on the floors below its own.
floor_of() {
  case $1 in
    base/*) echo 1 ;;
    db | kernel_templates | own_kernels) echo 2 ;;
    tuner/*) echo 3 ;;
    src/*) echo 4 ;;
    *) fail "$1: this folder has no floor" ;;
  esac
}
declare -A floor=()
while read -r module folder allowed; do
  floor[$module]=$(floor_of "$folder")
  for other in $allowed; do
    if [[ -z ${floor[$other]:-} ]]; then
      fail "CMakeLists.txt: $module depends on $other, which is declared later"
    elif [[ ${floor[$other]} -gt ${floor[$module]} ]]; then
      fail "CMakeLists.txt: $module depends on $other, which is on a higher floor"
    fi
  done
done <<<"$modules"

includes_in() { grep -rnE "$2" "$1" --include=*.cpp --include=*.hpp; }
while read -r module folder allowed; do
  for other in "${!prefix[@]}"; do
    [[ " $module $allowed " == *" $other "* ]] && continue
    while IFS= read -r line; do fail "$line: $module may not use $other"; done \
      < <(includes_in "$folder" "#include \"${prefix[$other]}/")
  done
done <<<"$modules"

sources=(include base src kernel_templates own_kernels tuner db)
while IFS= read -r line; do fail "$line: only base/gpu sees CUDA's headers"; done \
  < <(grep -rnE '#include <(cuda|cudaTypedefs|nvrtc|cublas[a-z_0-9]*|nvml)\.h>' "${sources[@]}" | grep -vE '^(base/gpu|src/export/source/text)/')
while IFS= read -r line; do fail "$line: only db sees SQLite"; done \
  < <(grep -rnE '#include <(sqlite3\.h|SQLiteCpp/.*)>' "${sources[@]}" | grep -vE '^(db/|src/cli/output/version_text\.cpp)')
while IFS= read -r line; do fail "$line: public headers include the standard library and each other"; done \
  < <(grep -rnE '#include' include | grep -vE '#include (<[a-z_]+>|<std[a-z]+\.h>|"autotune/)')
while IFS= read -r line; do fail "$line: only GEMM's files know a GemmProblem and FP32, all others hold Problem and ElementType"; done \
  < <(grep -rnE '\bGemmProblem\b|sizeof\(float\)' "${sources[@]}" --include=*.cpp --include=*.hpp |
    grep -vE '^(include|base/operation/gemm|base/baseline|kernel_templates|src/api|src/select|src/(cli|export/source)/gemm_)')
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
