#!/usr/bin/env bash
# `pip install .` without a network, as it stands in README: the module finds the shared library beside it
# and multiplies NumPy's arrays on the CPU device, and a script of Kernel Tuner runs with the program beside
# it. Both need glibc alone, and the package has the notices of what is in them. `pip install --editable .` works too. usage: pip_test.sh [PYTHON]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${1:-python3}
for module in pip scikit_build_core numpy; do
  "$python" -c "import $module" 2>/dev/null || { echo "SKIPPED: $python has no module $module"; exit 0; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache

# install PYTHON PIP_ARGUMENT...: with -O0, since it compiles all of the library.
install() {
  "$1" -m pip install --disable-pip-version-check --root-user-action=ignore \
    --no-index --no-build-isolation --no-deps --config-settings=build-dir="$scratch/build" \
    --config-settings=cmake.build-type=None --config-settings=install.strip=true "${@:2}" \
    >"$scratch/pip.txt" 2>&1 || { cat "$scratch/pip.txt"; exit 1; }
}
install "$python" --verbose --target "$scratch/installed" "$root"
if grep -i deprecated "$scratch/pip.txt"; then echo "a deprecated setting is used"; exit 1; fi
for built in "$scratch/installed/autotune/libautotune.so" "$scratch/installed/autotune/bin/autotune"; do
  others=$(ldd "$built" | grep -vE '^\s*(linux-vdso|/lib64/ld-linux|lib(c|m|dl|pthread)\.so)' || true)
  [[ -z $others ]] || { echo "$built needs more than glibc: $others"; exit 1; }
  if readelf --sections --wide "$built" | grep -F .symtab; then echo "$built is not stripped"; exit 1; fi
done
notices=$(find "$scratch/installed" -path "*.dist-info/licenses/THIRD_PARTY")
cmp "$notices" "$root/THIRD_PARTY"
grep -qx 'License-Expression: MIT' "$(dirname "$notices")/../METADATA" || { echo "METADATA has no licence"; exit 1; }

for file in "$root"/python/autotune/*.py "$root"/python/autotune/kernel_tuner/*.py "$root/python/autotune/py.typed"; do
  cmp "$file" "$scratch/installed/${file#"$root/python/"}"
done

unset AUTOTUNE_LIBRARY AUTOTUNE_PROGRAM
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

from autotune import kernel_tuner

results, _ = kernel_tuner.tune_kernel(
    "twice", "__global__ void twice(float *x) { x[blockIdx.x * block_size_x + threadIdx.x] *= 2; }", 256,
    [numpy.ones(256, "float32")], {"block_size_x": [32, 64]}, answer=[numpy.full(256, 2, "float32")],
    device="cpu", quiet=True)
assert len(results) == 2 and results[0]["time"] > 0, results
PYTHON
version=$(PYTHONPATH=$scratch/installed "$scratch/installed/bin/autotune" --version)
[[ $version == autotune* ]] || { echo "the command says: $version"; exit 1; }

# Only a folder that Python takes for site-packages can have an editable installation.
"$python" -m venv "$scratch/venv"
PYTHONPATH=$("$python" -c 'import pathlib, scikit_build_core as s; print(pathlib.Path(s.__file__).parents[1])') \
  install "$scratch/venv/bin/python" --editable "$root"
"$scratch/venv/bin/python" - "$root" <<'PYTHON'
import sys

import autotune
import autotune._program

assert autotune.__file__.startswith(sys.argv[1]), autotune.__file__
assert autotune._program.own_path(), "the program is not found"
assert autotune.Library("cpu").query((2, 3, 4))["kernel"]
print("editable: autotune", autotune.version())
PYTHON
