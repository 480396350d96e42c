#!/usr/bin/env bash
# `pip install .` without a network, as it stands in README: the module finds the shared library beside it
# and multiplies NumPy's arrays on the CPU device. usage: pip_test.sh [PYTHON]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${1:-python3}
for module in pip scikit_build_core numpy; do
  "$python" -c "import $module" 2>/dev/null || { echo "SKIPPED: $python has no module $module"; exit 0; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache

# -O0, since it compiles all of the library.
"$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  --no-index --no-build-isolation --no-deps --target "$scratch/installed" \
  --config-settings=build-dir="$scratch/build" --config-settings=cmake.build-type=None "$root"
unset AUTOTUNE_LIBRARY
cd "$scratch"
PYTHONPATH=$scratch/installed${PYTHONPATH:+:$PYTHONPATH} "$python" - "$scratch/installed" <<'PYTHON'
import pathlib
import sys

import autotune
import numpy

assert pathlib.Path(autotune.__file__).is_relative_to(sys.argv[1]), autotune.__file__
a = numpy.arange(70 * 51, dtype="float32").reshape(70, 51) % 7
b = numpy.arange(51 * 33, dtype="float32").reshape(51, 33) % 5
assert numpy.array_equal(autotune.matmul(a, b), a @ b)
maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
assert f"{sys.argv[1]}/autotune/libautotune.so" in maps, "another library was loaded"
print("autotune", autotune.version())
PYTHON
