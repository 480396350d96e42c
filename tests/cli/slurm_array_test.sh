#!/usr/bin/env bash
# slurm_array_test.sh PROGRAM: what examples/slurm/tune.sbatch does, three tasks at a time on the
# host device, without Slurm: the parts are merged, and nothing is left to be measured.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export AUTOTUNE=$1 RESULTS="$folder/results" SIZES=33,20x40x10 XDG_CACHE_HOME="$folder/cache"
export OPTIONS="--device host --template gemm_tiled --only TILE_WIDTH=8,UNROLL=8,PREFETCH=0"
export SLURM_ARRAY_TASK_COUNT=3
tasks=()
for SLURM_ARRAY_TASK_ID in 1 2 3; do
  export SLURM_ARRAY_TASK_ID
  bash "$here/../../examples/slurm/tune.sbatch" >"$folder/task-$SLURM_ARRAY_TASK_ID.txt" 2>&1 &
  tasks+=($!)
done
for task in "${tasks[@]}"; do
  wait "$task" || { cat "$folder"/task-*.txt; exit 1; }
done
export AUTOTUNE_DB="$folder/whole.db"
"$AUTOTUNE" db merge "$RESULTS"/part-*.db
# shellcheck disable=SC2086
"$AUTOTUNE" --sizes "$SIZES" $OPTIONS | tee "$folder/whole.txt"
grep -q '^0 measured, ' "$folder/whole.txt"
