"""Tuned matrix multiplication for arrays on NVIDIA GPUs, and on the CPU device.

    import autotune
    c = autotune.matmul(a, b)                       # PyTorch, CuPy, Numba, NumPy, DLPack; batches too
    autotune.tune([(512, 512, 512)], seconds=10)    # once; the results are kept on disk
    autotune.query((512, 512, 512))                 # what runs, and why
    weights = autotune.prepare(b, m=512, math="emulated")       # once, for many products

It is the C API (autotune/autotune.h) by ctypes. All functions may be called by several threads at once.
"""

import atexit
import ctypes
import os
import shutil
import threading
import weakref

from . import _arrays, _c_api, _checks, _signals
from ._c_api import Error

__all__ = ["Error", "Prepared", "matmul", "prepare", "query", "stop_background", "tune", "use_background",
           "use_bundle", "version"]

_bundle = None  # the path, as bytes
_background = None  # program, share and seconds, for new library objects
_in_background = []  # the library objects that tune
_libraries = {}  # by what they were opened with


def use_bundle(path):
    """From now on products on GPUs run with the kernels of a file of `autotune export --bundle`.

    No compiler, database or cubin store is looked for then, and tune() raises ValueError. path: of the
    file, which the next call for a GPU reads; None: without one again.
    """
    global _bundle
    _bundle = None if path is None else os.path.abspath(os.fsencode(path))


def use_background(program=None, *, share=0.05, seconds=10):
    """From now on what is multiplied and was not tuned is tuned in the background.

    It is tuned in processes of `program` (None: the `autotune` that the shell would start), for at most
    `share` of any second of the device's time and `seconds` of it for each size; later products run
    with the kernels that win. Ends with the process or with stop_background().
    """
    global _background
    found = shutil.which(program or "autotune")
    if found is None:
        missing = f"there is no program {program}" if program else "there is no autotune in PATH"
        raise ValueError(f"program is {program!r}, and {missing}: give the path of autotune")
    _background = (os.fsencode(os.path.abspath(found)), _checks.amount(share, "share", most=1),
                   _checks.amount(seconds, "seconds", most=_checks.LONGEST))


@atexit.register
def stop_background():
    """Ends tuning in the background, at once. Products go on with the kernels that were found."""
    global _background
    _background = None
    while _in_background:
        _c_api.call("stop_background", _in_background.pop())


class _Library:
    """The library object of a device ("cpu", a GPU's number, None: the current GPU), opened at its first use.

    A forked process has objects of its own: `process` is its number.
    """

    def __init__(self, device, process, bundle, background):
        self._device, self._bundle, self._background = device, bundle, background
        self._opening = threading.RLock()  # a signal handler may need it meanwhile
        self._handle = None

    def handle(self):
        if self._handle is None:
            with self._opening:
                self._handle = self._handle or self._open()
        return self._handle

    def _open(self):
        if os.environ.get("AUTOTUNE_DB"):  # later objects too have the file of today's folder
            os.environ["AUTOTUNE_DB"] = os.path.abspath(os.environ["AUTOTUNE_DB"])
        options = _c_api.Options(bundle=self._bundle)
        if self._device == "cpu":
            options.device = _c_api.DEVICE_CPU
        elif self._device is not None:
            options.device, options.gpu = _c_api.DEVICE_GPU, self._device
        if self._background is not None:
            options.miss = _c_api.MISS_BACKGROUND
            options.worker_program, options.background_share, options.miss_budget_seconds = self._background
        library = ctypes.c_void_p()
        _c_api.call("open", ctypes.byref(options), ctypes.byref(library))
        if self._background is not None:
            _in_background.append(library)
        return library  # for the rest of the process


def _library_of(device):
    device = _checks.device(device)
    key = (device, os.getpid(), None if device == "cpu" else _bundle, _background)
    return (_libraries.get(key) or _libraries.setdefault(key, _Library(*key))).handle()


class Prepared:
    """A matrix that prepare() has prepared, which matmul() takes as a or b.

    It holds a reference to the array. Its own memory is freed by close(), at the end of a `with`
    block, or with the object.
    """

    def __init__(self, array, handle):
        self.array = array
        self._handle = handle
        self._free = weakref.finalize(self, _destroy, handle, os.getpid())

    def close(self):
        """Frees its memory. The work that uses it must have ended.

        It must not run while another thread multiplies with the object.
        """
        self._free()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _handle_as(self, name):
        """The handle, for matmul()'s argument of this name."""
        if not self._free.alive:
            raise ValueError(f"{name} was closed")
        return self._handle


def _destroy(handle, process):
    if process == os.getpid():  # memory of a GPU is not a forked process's
        _c_api.library().autotune_prepared_destroy(handle)


def _array_of(operand):
    return operand.array if isinstance(operand, Prepared) else operand


def prepare(array, *, math, m=None, n=None, stream=None):
    """Prepares an operand of many products once, and returns a Prepared, which matmul() takes.

    m: the number of rows of a product that has the array as b. n: the number of columns of a
    product that has it as a. One of them must be given. Kernels of "emulated" and "tf32" products
    split their operands into FP16 numbers before they multiply. Later products of any size that run
    with the kernel that this product has now do not split this operand again, and those that run
    with another kernel read the array. The results are the same bit for bit. The array must stay as
    it is and where it is. The preparation is enqueued on a stream as matmul() enqueues products,
    and products on other streams must be ordered behind it.

    Raises TypeError or ValueError for arguments that do not fit, Error for faults.
    """
    if (m is None) == (n is None):
        raise TypeError("give m, of products that have the array as b, or n, of those that have it as a")
    matrix = _arrays.Matrix(array, "array")
    if matrix.batch is not None:
        raise ValueError("array has 3 dimensions: an operand is prepared for single products")
    problem = _c_api.Problem(math=_checks.math_of(math), batch=1)
    if n is None:
        which, problem.op_b = _c_api.OPERAND_B, not matrix.by_rows
        problem.m, (problem.k, problem.n) = _checks.count(m, "m"), matrix.shape
    else:
        which, problem.op_a = _c_api.OPERAND_A, not matrix.by_rows
        (problem.m, problem.k), problem.n = matrix.shape, _checks.count(n, "n")
    prepared = ctypes.c_void_p()
    _c_api.call("prepare_operand", _library_of(matrix.device), ctypes.byref(problem), which, matrix.data,
                matrix.ld, _arrays.stream_of([matrix], stream), ctypes.byref(prepared))
    return Prepared(array, prepared)


def matmul(a, b, out=None, *, alpha=1.0, beta=0.0, stream=None, math="strict"):
    """Returns out = alpha * a @ b + beta * out, in FP32.

    a: m x k, b: k x n, out: m x n, all on the same device, by rows or by columns, with rows or
    columns any distance apart; out is made where it is not given, and overlaps neither a nor b.
    With a third dimension in front, arrays of as many matrices are multiplied in one launch; a or b
    with one matrix, in two or three dimensions, is used for all products. On a GPU the work is
    enqueued on `stream`: a number or an object of PyTorch, CuPy or Numba; by default the stream
    that PyTorch works on or that the arrays name, else the default stream. Other arrays are
    multiplied on the CPU device, slowly. math: "strict", or "emulated" for products on tensor cores
    that are as accurate, or "tf32" for products of operands that are rounded to TF32. a and b may
    be what prepare() returned.

    Raises TypeError or ValueError for arguments that do not fit, Error for faults.
    """
    alpha, beta = _checks.scalar(alpha, "alpha"), _checks.scalar(beta, "beta")
    arrays = [_arrays.Matrix(_array_of(a), "a"), _arrays.Matrix(_array_of(b), "b")]
    prepared = [x._handle_as(name) if isinstance(x, Prepared) else None for x, name in ((a, "a"), (b, "b"))]
    (m, k), (k_of_b, n) = arrays[0].shape, arrays[1].shape
    if k != k_of_b:
        raise ValueError(f"a is {m} x {k} and b is {k_of_b} x {n}: they cannot be multiplied")
    batch = _batch_of(*arrays)
    is_new = out is None
    if is_new:
        if beta != 0:
            raise ValueError("beta is not 0, and there is no out to add to")
        out = _arrays.empty_like(_array_of(a), (m, n) if batch is None else (batch, m, n))
    arrays.append(_arrays.Matrix(out, "out"))
    left, right, result = arrays
    if result.shape != (m, n):
        raise ValueError(f"out is {result.shape[0]} x {result.shape[1]}: it must be {m} x {n}")
    if result.batch != batch:
        raise ValueError(f"out has {_matrices(result.batch)}: it must have {_matrices(batch)}")
    if result.read_only:
        raise ValueError("out is read-only")
    devices = {matrix.device for matrix in arrays}
    if len(devices) > 1:
        raise ValueError(f"a, b and out are on different devices: {[x.device for x in arrays]}")
    problem = _c_api.Problem(m=m, n=n, k=k, op_a=left.by_rows != result.by_rows,
                             op_b=right.by_rows != result.by_rows, math=_checks.math_of(math),
                             order=not result.by_rows, batch=batch or 1)
    placed = [(matrix.data, matrix.ld, matrix.stride_in(batch)) for matrix in arrays]
    library, stream = _library_of(devices.pop()), _arrays.stream_of(arrays, stream)
    if batch is None and any(prepared):
        operands = [(*place[:2], handle) for place, handle in zip(placed, prepared)]
        _c_api.call("gemm_prepared", library, ctypes.byref(problem), alpha, *operands[0], *operands[1],
                    beta, *placed[2][:2], stream, None)
    elif batch != 0:
        _c_api.call("gemm_strided_batched", library, ctypes.byref(problem), alpha, *placed[0],
                    *placed[1], beta, *placed[2], stream, None)
    if not is_new:
        _arrays.note_written(out)
    return out


def _matrices(batch):
    return "two dimensions" if batch is None else f"{batch} matrices in three dimensions"


def _batch_of(a, b):
    """The number of products; None for one of two dimensions."""
    if a.batch is None or b.batch is None:
        return b.batch if a.batch is None else a.batch
    if a.batch != b.batch and 1 not in (a.batch, b.batch):
        raise ValueError(f"a has {a.batch} matrices and b has {b.batch}: they must be as many, or one")
    return b.batch if a.batch == 1 else a.batch


def query(size, *, layout="NN", batch=1, math="strict", device=None, max_error=None):
    """Returns a dictionary of the configuration that a product of (m, n, k) runs with, and why.

    layout: N or T for a and for b, T where it lies by columns. batch: products of one launch.
    device: None for the current GPU, "cpu" or the number of a GPU. median_us is of one launch, for
    tuned_for; None where nothing was measured. max_error asks for the fastest that is known for
    this very size and keeps to it (see tune()), in `math` or a stricter one: tuned_for_math.
    Raises Error where nothing is.
    """
    problem, choice = _checks.problem(size, layout, math, batch), _c_api.Choice()
    if max_error is None:
        _c_api.call("query", _library_of(device), ctypes.byref(problem), ctypes.byref(choice))
    else:
        _c_api.call("query_within", _library_of(device), ctypes.byref(problem),
                    _checks.amount(max_error, "max_error", below=1), ctypes.byref(choice))
    entries = choice.configuration.decode().split(",")
    return {
        "match": _c_api.MATCHES[choice.match],
        "kernel": choice.kernel.decode(),
        "configuration": {name: int(value) for name, value in (e.split("=") for e in entries)},
        "tuned_for": (choice.tuned_m, choice.tuned_n, choice.tuned_k),
        "tuned_for_batch": choice.tuned_batch,
        "tuned_for_math": _c_api.MATHS[choice.tuned_math],
        "median_us": choice.median_us or None,
        "explanation": choice.explanation.decode(),
    }


def tune(sizes, *, layout="NN", batch=1, math="strict", device=None, seconds=None, trials=None,
         fresh=False, max_error=None, progress=None):
    """Searches for the fastest configurations of products of sizes [(m, n, k), ...], and stores them.

    The search ends with a budget for all sizes together, `seconds` or `trials`. Without a budget it
    ends when its space is exhausted, when 98 % of the best is estimated to be reached, or after
    30 s. progress(done, total, elapsed_seconds) is called meanwhile, in the calling thread, and ends the
    search by returning False. Signal handlers run at the same times: an interrupt ends the search. fresh:
    measures again what is known. max_error: the greatest relative error of a winner, in the
    Frobenius norm on uniform data, above 0 and below 1; kernels of `math` and of the stricter ones
    compete. The limit is of this search alone: query() with it says what was found. Returns a
    dictionary of what was done: trials that were `measured` and `known`, sizes that are `tuned`,
    whether it is `complete` and was `stored`.
    """
    problems = [_checks.problem(size, layout, math, batch) for size in sizes]
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r}: it must be a function")
    signals, raised = _signals.Deferred(), []

    def report(_, done, total, elapsed_seconds, best_us):
        try:
            if not raised:
                return signals.run(lambda: progress is None or progress(done, total, elapsed_seconds) is not False)
        except BaseException as error:  # which must not pass through the library
            raised.append(error)
        return 0

    options = _c_api.TuneOptions(fresh=bool(fresh), progress=_c_api.Progress(report))
    if seconds is not None:
        options.budget_seconds = _checks.amount(seconds, "seconds", most=_checks.LONGEST)
    if trials is not None:
        options.budget_trials = _checks.count(trials, "trials", most=2**63 - 1)
    if max_error is not None:
        options.max_error = _checks.amount(max_error, "max_error", below=1)
    result = _c_api.TuneResult()
    library = _library_of(device)
    try:
        with signals:
            _c_api.call("tune", library, (_c_api.Problem * len(problems))(*problems), len(problems),
                        ctypes.byref(options), ctypes.byref(result))
    finally:
        if raised:
            raise raised[0]
    return {"measured": result.measured, "known": result.known, "tuned": result.tuned,
            "complete": bool(result.complete), "stored": bool(result.stored)}


def version():
    """Returns the version of the library that is loaded, as (major, minor, patch)."""
    number = _c_api.library().autotune_version()
    return number // 10000, number // 100 % 100, number % 100
