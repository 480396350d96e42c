"""Tuned matrix multiplication for arrays on NVIDIA GPUs, and on the CPU device.

    import autotune
    c = autotune.matmul(a, b)                       # PyTorch, CuPy, Numba, NumPy, DLPack; batches too
    autotune.tune([(512, 512, 512)], seconds=10)    # once; the results are kept on disk
    autotune.query((512, 512, 512))                 # what runs, and why
    weights = autotune.prepare(b, m=512, math="emulated")       # once, for many products
    autotune.Kernel("reduce.cu").tune(n=16777216)   # a kernel of one's own

The functions use one Library for the whole process; a Library of one's own has its own device, database and rules.
All may be called by several threads at once.
"""

from ._c_api import version
from ._default import DEFAULT
from .errors import Error, NotTunedError, StorageError
from .kernel import Kernel
from .library import Library
from .plans import Plan
from .prepared import Prepared
from .problem import Choice, Tuned

__all__ = ["Choice", "Error", "Kernel", "Library", "NotTunedError", "Plan", "Prepared", "StorageError", "Tuned", "gemm", "matmul",
           "plan", "prepare", "query", "stop_background", "tune", "use_background", "use_bundle", "version"]

gemm = DEFAULT.gemm
matmul = DEFAULT.matmul
plan = DEFAULT.plan
prepare = DEFAULT.prepare
query = DEFAULT.query
stop_background = DEFAULT.stop_background
tune = DEFAULT.tune
use_background = DEFAULT.use_background
use_bundle = DEFAULT.use_bundle
