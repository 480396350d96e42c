"""The annotations, as `mypy --strict` has them: in the module, and for those who call it."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MODULE = pathlib.Path(__file__).resolve().parents[2] / "python"
CALLER = """
import autotune

class Array: ...

array: Array = autotune.matmul(Array(), Array())
with autotune.Library("cpu", database="a.db") as library:
    weights: autotune.Prepared[Array] = library.prepare(array, m=3, math="tf32")
    array = library.matmul(weights, Array(), out=Array())
    array = library.matmul(weights, Array(), out_dtype="float32")
    match: str = library.gemm(Array(), weights, Array())
    plan: autotune.Plan = library.plan((1, 2, 3))
    plan(weights, Array(), Array(), workspace=Array() if plan.workspace_bytes else None)
    choice: autotune.Choice = library.query((1, 2, 3), type="bf16", out_type="f32")
    match = choice["type"]
    tuned: int = library.tune([(1, 2, 3)], trials=3)["tuned"]
    kernel = autotune.Kernel("a.cu", library=library)
    tuned = kernel.tune(n=3, trials=3)["tuned"]
    kernel.launch(Array(), 3.0, stream=None, n=3)
    match = kernel.query(n=3)["match"]
"""

mypy = [sys.executable, "-m", "mypy"] if importlib.util.find_spec("mypy") else [shutil.which("mypy")]
if mypy[-1] is None:
    print("SKIPPED: there is no mypy")
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    caller = pathlib.Path(folder) / "caller.py"
    caller.write_text(CALLER, encoding="utf-8")
    for checked in MODULE / "autotune", caller:
        subprocess.run([*mypy, "--strict", "--cache-dir", folder + "/cache", checked],
                       env={**os.environ, "MYPYPATH": str(MODULE)}, check=True)
