"""The C API (autotune/autotune.h) by ctypes: its structures and functions, with statuses as
exceptions.
"""

import ctypes
import functools
import os
import sys

MATCHES = ("exact", "exact, stale", "nearest size", "predicted")
MATHS = ("strict", "emulated", "tf32")
USAGE = 1
OPERAND_A, OPERAND_B = 0, 1
DEVICE_CPU, DEVICE_GPU = 1, 2
MISS_BACKGROUND = 3


class Error(RuntimeError):
    """A fault outside of the call. `status` is the C API's, `cuda_result` the driver's code or 0.

    A call that is itself wrong raises TypeError or ValueError.
    """

    def __init__(self, message, status, cuda_result):
        super().__init__(message, status, cuda_result)  # all of them, or it could not be unpickled
        self.status = status
        self.cuda_result = cuda_result

    def __str__(self):
        return self.args[0]


class Struct(ctypes.Structure):
    """A structure of the C API, which begins with its size."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(self), **members)


class Options(Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("gpu", ctypes.c_int32),
        ("database", ctypes.c_char_p), ("worker_program", ctypes.c_char_p),
        ("no_shipped_winners", ctypes.c_int32), ("miss", ctypes.c_int32),
        ("miss_budget_seconds", ctypes.c_double), ("log", ctypes.c_void_p),
        ("user", ctypes.c_void_p), ("bundle", ctypes.c_char_p),
        ("background_share", ctypes.c_double),
    ]


class Problem(Struct):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in "mnk"] + [
        (name, ctypes.c_int32) for name in ("op_a", "op_b", "math", "order")] + [
            ("batch", ctypes.c_int64)]


class Choice(Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("match", ctypes.c_int32), ("tuned_math", ctypes.c_int32),
        ("tuned_m", ctypes.c_int64), ("tuned_n", ctypes.c_int64), ("tuned_k", ctypes.c_int64),
        ("median_us", ctypes.c_double), ("kernel", ctypes.c_char * 64),
        ("configuration", ctypes.c_char * 512), ("explanation", ctypes.c_char * 256),
        ("tuned_batch", ctypes.c_int64),
    ]


Progress = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                             ctypes.c_double, ctypes.c_double)


class TuneOptions(Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("budget_seconds", ctypes.c_double),
        ("budget_trials", ctypes.c_int64), ("strategy", ctypes.c_char_p),
        ("seed", ctypes.c_uint64), ("fresh", ctypes.c_int32), ("reserved", ctypes.c_int32),
        ("progress", Progress), ("user", ctypes.c_void_p), ("max_error", ctypes.c_double),
    ]


class TuneResult(Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("measured", ctypes.c_int64), ("known", ctypes.c_int64),
        ("tuned", ctypes.c_int64), ("complete", ctypes.c_int32), ("stored", ctypes.c_int32),
    ]


@functools.lru_cache(None)
def library():
    """The shared library: the one that AUTOTUNE_LIBRARY names, that of this package, or any."""
    # An editable installation has the module's sources in one folder and the library in another.
    paths = (os.path.join(folder, "libautotune.so") for folder in sys.modules[__package__].__path__)
    own = next(filter(os.path.exists, paths), "libautotune.so")
    c = ctypes.CDLL(os.environ.get("AUTOTUNE_LIBRARY") or own)
    matrix = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    prepared = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    problem = ctypes.POINTER(Problem)
    for name, arguments in {
            "open": [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p)],
            "gemm_strided_batched": [ctypes.c_void_p, problem, ctypes.c_float, *matrix, *matrix,
                                     ctypes.c_float, *matrix, ctypes.c_void_p,
                                     ctypes.POINTER(ctypes.c_int32)],
            "prepare_operand": [ctypes.c_void_p, problem, ctypes.c_int32, ctypes.c_void_p,
                                ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)],
            "gemm_prepared": [ctypes.c_void_p, problem, ctypes.c_float, *prepared, *prepared,
                              ctypes.c_float, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
                              ctypes.POINTER(ctypes.c_int32)],
            "prepared_destroy": [ctypes.c_void_p],
            "stop_background": [ctypes.c_void_p],
            "query": [ctypes.c_void_p, problem, ctypes.POINTER(Choice)],
            "query_within": [ctypes.c_void_p, problem, ctypes.c_double, ctypes.POINTER(Choice)],
            "tune": [ctypes.c_void_p, problem, ctypes.c_size_t, ctypes.POINTER(TuneOptions),
                     ctypes.POINTER(TuneResult)],
    }.items():
        getattr(c, "autotune_" + name).argtypes = arguments
    c.autotune_prepared_destroy.restype = None
    c.autotune_version.restype = ctypes.c_uint32
    c.autotune_last_error.restype = ctypes.c_char_p
    return c


def call(name, *arguments):
    """Calls a function. Raises ValueError for a wrong call, Error for a fault."""
    status = getattr(library(), "autotune_" + name)(*arguments)
    if status == 0:
        return
    message = library().autotune_last_error().decode(errors="replace")
    if status == USAGE:
        raise ValueError(message)
    raise Error(message, status, library().autotune_last_cuda_result())
