#!/usr/bin/env bash
# Runs an example as its reader would. COMMAND is empty where it was not built, for lack of the CUDA runtime.
# usage: example_test.sh NAME COMMAND AUTOTUNE
set -euo pipefail
name=$1
command=$2
autotune=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache
has_gpu() { "$autotune" devices 2>/dev/null | grep -q '^0 '; }
skip() {
  echo "SKIPPED: $*"
  exit 0
}
[[ -n $command ]] || skip "no CUDA runtime"

# Makes the bundle that the example runs with, of the GPU here or of any with sm_90.
make_bundle() {
  local device=(--arch sm_90)
  has_gpu && device=(--device 0)
  local status=0
  "$autotune" export --bundle "$scratch/app.bundle" "${device[@]}" --sizes 1024x512x256 --no-portfolio \
    || status=$?
  [[ $status -ne 3 ]] || skip "no NVRTC"
  return "$status"
}

case $name in
  bundle)
    make_bundle
    # Neither a compiler, nor a database, nor a folder of the user's is there.
    alone=(env -u HOME AUTOTUNE_NVRTC=/nonexistent/libnvrtc.so AUTOTUNE_DB=/dev/null/autotune.db
           XDG_CACHE_HOME=/dev/null/cache)
    if has_gpu; then
      "${alone[@]}" "$command" "$scratch/app.bundle"
    else
      refusal=$("${alone[@]}" "$command" "$scratch/app.bundle" 2>&1) && exit 1
      echo "$refusal"
      [[ $refusal == "bundle $scratch/app.bundle: is for sm_90, not for cpu: "* ]]
      skip "no GPU: the bundle was made and refused here"
    fi
    # One byte less is noticed before anything runs.
    truncate -s -1 "$scratch/app.bundle"
    refusal=$("${alone[@]}" "$command" "$scratch/app.bundle" 2>&1) && exit 1
    echo "$refusal"
    [[ $refusal == *"is damaged"* ]]
    ;;
  threads) "$command" ;;
  kernel) $command ;;  # with its argument
  background) "$command" "$autotune" ;;
  matmul.py)
    python=${PYTHON:-python3}
    "$python" -c 'import numpy' 2>/dev/null || "$python" -c 'import torch' 2>/dev/null || skip "no NumPy"
    "$python" "$command"
    ;;
  *)
    has_gpu || skip "no GPU"
    "$command"
    ;;
esac
