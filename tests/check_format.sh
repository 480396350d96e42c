#!/usr/bin/env bash
# Holds the code to .clang-format, with the version of clang-format that it is written for.
set -uo pipefail
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14 || command -v clang-format)
if [[ -z $formatter || $("$formatter" --version) != *" 14."* ]]; then
  echo "SKIPPED: no clang-format 14, which scripts/setup --tests installs where the suite has it"
  exit 0
fi
find base benchmarks db examples include kernel_templates own_kernels src tests tuner \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$formatter" --dry-run -Werror 2>&1 | grep -E 'error:' | cut -d: -f1,2
[[ ${PIPESTATUS[1]} -eq 0 ]] && echo "all code is formatted"
