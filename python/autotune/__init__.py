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
import functools
import numbers
import os
import shutil
import sys
import weakref

from . import _c_api
from ._c_api import Error

__all__ = ["Error", "Prepared", "matmul", "prepare", "query", "stop_background", "tune", "use_background",
           "use_bundle", "version"]

_bundle = None  # the path, as bytes
_background = None  # program, share and seconds, for new library objects
_in_background = []  # the library objects that tune


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
    program = program or shutil.which("autotune")
    if program is None:
        raise ValueError("program is None, and there is no autotune in PATH: give the program's path")
    _background = (os.path.abspath(os.fsencode(program)), _positive(share, "share", whole=False),
                   _positive(seconds, "seconds", whole=False))


@atexit.register
def stop_background():
    """Ends tuning in the background, at once. Products go on with the kernels that were found."""
    global _background
    _background = None
    while _in_background:
        _c_api.call("stop_background", _in_background.pop())


@functools.lru_cache(None)
def _library(device, process, bundle, background):
    """The library object of a device ("cpu", a GPU's number, None: the current GPU).

    A forked process has objects of its own: `process` is its number.
    """
    if os.environ.get("AUTOTUNE_DB"):  # later objects too have the file of today's folder
        os.environ["AUTOTUNE_DB"] = os.path.abspath(os.environ["AUTOTUNE_DB"])
    options = _c_api.Options(bundle=bundle)
    if device == "cpu":
        options.device = _c_api.DEVICE_CPU
    elif device is not None:
        options.device, options.gpu = _c_api.DEVICE_GPU, device
    if background is not None:
        options.miss = _c_api.MISS_BACKGROUND
        options.worker_program, options.background_share, options.miss_budget_seconds = background
    library = ctypes.c_void_p()
    _c_api.call("open", ctypes.byref(options), ctypes.byref(library))
    if background is not None:
        _in_background.append(library)
    return library  # for the rest of the process


def _library_of(device):
    if device is not None and device != "cpu" and not _is_whole(device):
        raise TypeError(f"device is {device!r}: it must be None, 'cpu' or the number of a GPU")
    if _is_whole(device) and not 0 <= device < 2**31:
        raise ValueError(f"device is {device}: there is no such GPU")
    return _library(device, os.getpid(), None if device == "cpu" else _bundle, _background)


def _is_whole(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _Matrix:
    """An array as the library needs it: a matrix of FP32 in memory, or a batch of them.

    `shape` is that of one matrix, `batch` None for an array of two dimensions.
    """

    def __init__(self, array, name):
        self.name = name
        self.device = "cpu"
        self.stream = None
        self.keeps = array  # what owns the memory
        self.read_only = False
        if not (self._from_interface(array) or self._from_dlpack(array)):
            raise TypeError(f"{name} is {type(array).__name__}: it must be an array on a GPU or "
                            "the CPU (__cuda_array_interface__, __array_interface__ or DLPack)")
        if len(self.shape) not in (2, 3):
            raise ValueError(f"{name} has {len(self.shape)} dimensions: it must be a matrix, or an array "
                             "of matrices with 3")
        self.batch = self.shape[0] if len(self.shape) == 3 else None
        self.shape = self.shape[-2:]
        self.batch_stride = self.shape[0] * self.shape[1]
        if self.batch is not None and self.strides:
            self.batch_stride, *self.strides = self.strides
        self._find_layout()

    def _from_interface(self, array):
        interface = self._read(lambda: getattr(array, "__cuda_array_interface__", None))
        if interface is not None:
            self.device = _gpu_of(array)
            self.stream = interface.get("stream") or _current_stream(array)
        else:
            interface = self._read(lambda: getattr(array, "__array_interface__", None))
        if interface is None:
            return False
        missing = {"typestr", "data", "shape"} - set(interface)
        if missing:
            raise TypeError(f"{self.name} has an array interface without {', '.join(sorted(missing))}")
        if interface["typestr"] != "<f4":
            raise TypeError(f"{self.name} has elements of type {interface['typestr']}: "
                            "they must be FP32")
        if interface.get("mask") is not None:
            raise TypeError(f"{self.name} has a mask")
        self.data, self.read_only = interface["data"]
        self.shape = tuple(interface["shape"])
        strides = interface.get("strides")
        if strides is not None:
            if any(stride % 4 for stride in strides):
                raise ValueError(f"{self.name} has strides that are not whole elements")
            strides = tuple(stride // 4 for stride in strides)
        self.strides = strides
        return True

    def _from_dlpack(self, array):
        if not hasattr(array, "__dlpack__") or not hasattr(array, "__dlpack_device__"):
            return False
        kind, number = self._read(array.__dlpack_device__)
        if kind not in (1, 2):
            raise TypeError(f"{self.name} is on a device of DLPack's type {kind}: "
                            "it must be on a GPU or the CPU")
        if kind == 2:
            self.device = int(number)
            self.stream = _current_stream(array) or 1
        options = {"stream": self.stream} if kind == 2 else {}
        self.keeps = self._read(lambda: array.__dlpack__(**options))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = _DLTensor.from_address(pointer(self.keeps, b"dltensor"))
        if (tensor.code, tensor.bits, tensor.lanes) != (2, 32, 1):
            raise TypeError(f"{self.name} has elements of DLPack's type {tensor.code} with "
                            f"{tensor.bits} bits: they must be FP32")
        self.data = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[:tensor.ndim])
        self.strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
        return True

    def _read(self, get):
        """What an array says of itself. PyTorch, for one, raises where a gradient is recorded."""
        try:
            return get()
        except Exception as error:
            raise TypeError(f"{self.name} does not give its memory: {error}") from error

    def stride_in(self, batch):
        """Elements from one product's matrix to the next in a batch; 0 where all have the same."""
        return self.batch_stride if self.batch == batch else 0

    def _find_layout(self):
        """Finds by which of its sides the matrix lies in memory, and its leading dimension."""
        rows, columns = self.shape
        along_rows, along_columns = self.strides or (columns, 1)
        self.by_rows = columns <= 1 or along_columns == 1
        if rows * columns == 0:
            self.by_rows, self.ld = True, columns
        elif self.by_rows and (rows == 1 or along_rows >= columns):
            self.ld = columns if rows == 1 else along_rows
        elif (rows == 1 or along_rows == 1) and (columns == 1 or along_columns >= rows):
            self.by_rows, self.ld = False, rows if columns == 1 else along_columns
        else:
            raise ValueError(f"{self.name} has strides of {along_rows} and {along_columns} elements: "
                             "one must be 1, and the other no less than a row or column")


def _gpu_of(array):
    """The number of an array's GPU; None where it does not say."""
    device = getattr(array, "device", None)
    for name in ("index", "id"):  # PyTorch, CuPy
        if _is_whole(getattr(device, name, None)):
            return int(getattr(device, name))
    return None


def _current_stream(array):
    """The stream that an array's library works on; None where it does not say."""
    if type(array).__module__.split(".")[0] == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream or None
    return None


def _handle_of(stream):
    """A CUDA stream as a number, from a number or from PyTorch's, CuPy's or Numba's object."""
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            stream = getattr(value, "value", value)
            break
    if not _is_whole(stream) or stream < 0:
        raise TypeError(f"stream is {stream!r}: it must be a CUDA stream or the number of one")
    if stream >= 2**64:
        raise ValueError(f"stream is {stream}: there is no such stream")
    return stream


def _stream_of(matrices, stream):
    """The stream that is given, else that of the arrays, as a number."""
    if stream is None:
        streams = {matrix.stream for matrix in matrices if matrix.stream is not None}
        if len(streams) > 1:
            raise ValueError("a, b and out name different streams: give stream")
        stream = streams.pop() if streams else 0
    return _handle_of(stream)


def _empty_like(array, shape):
    """A new matrix of the kind of an array."""
    if hasattr(array, "new_empty"):  # PyTorch
        return array.new_empty(shape)
    module = sys.modules.get(type(array).__module__.split(".")[0])
    if not hasattr(module, "empty"):
        raise TypeError(f"a matrix like {type(array).__name__} cannot be made: give out")
    return module.empty(shape, dtype="float32")


def _scalar(value, name):
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: it must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is beyond the range of numbers") from None


def _count(value, name):
    if not _is_whole(value):
        raise TypeError(f"{name} is {value!r}: it must be a whole number")
    if not 0 < value < 2**31:
        raise ValueError(f"{name} is {value}: it must be from 1 to {2**31 - 1}")
    return value


def _math(name):
    if not isinstance(name, str):
        raise TypeError(f"math is {name!r}: it must be one of {_c_api.MATHS}")
    if name not in _c_api.MATHS:
        raise ValueError(f"math is {name!r}: it must be one of {_c_api.MATHS}")
    return _c_api.MATHS.index(name)


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
    matrix = _Matrix(array, "array")
    if matrix.batch is not None:
        raise ValueError("array has 3 dimensions: an operand is prepared for single products")
    problem = _c_api.Problem(math=_math(math), batch=1)
    if n is None:
        which, problem.op_b = _c_api.OPERAND_B, not matrix.by_rows
        problem.m, (problem.k, problem.n) = _count(m, "m"), matrix.shape
    else:
        which, problem.op_a = _c_api.OPERAND_A, not matrix.by_rows
        (problem.m, problem.k), problem.n = matrix.shape, _count(n, "n")
    prepared = ctypes.c_void_p()
    _c_api.call("prepare_operand", _library_of(matrix.device), ctypes.byref(problem), which, matrix.data,
                matrix.ld, _stream_of([matrix], stream), ctypes.byref(prepared))
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
    alpha, beta = _scalar(alpha, "alpha"), _scalar(beta, "beta")
    arrays = [_Matrix(_array_of(a), "a"), _Matrix(_array_of(b), "b")]
    prepared = [x._handle_as(name) if isinstance(x, Prepared) else None for x, name in ((a, "a"), (b, "b"))]
    (m, k), (k_of_b, n) = arrays[0].shape, arrays[1].shape
    if k != k_of_b:
        raise ValueError(f"a is {m} x {k} and b is {k_of_b} x {n}: they cannot be multiplied")
    batch = _batch_of(*arrays)
    if out is None:
        if beta != 0:
            raise ValueError("beta is not 0, and there is no out to add to")
        out = _empty_like(_array_of(a), (m, n) if batch is None else (batch, m, n))
    arrays.append(_Matrix(out, "out"))
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
                             op_b=right.by_rows != result.by_rows, math=_math(math),
                             order=not result.by_rows, batch=batch or 1)
    placed = [(matrix.data, matrix.ld, matrix.stride_in(batch)) for matrix in arrays]
    library, stream = _library_of(devices.pop()), _stream_of(arrays, stream)
    if batch is None and any(prepared):
        operands = [(*place[:2], handle) for place, handle in zip(placed, prepared)]
        _c_api.call("gemm_prepared", library, ctypes.byref(problem), alpha, *operands[0], *operands[1],
                    beta, *placed[2][:2], stream, None)
    elif batch != 0:
        _c_api.call("gemm_strided_batched", library, ctypes.byref(problem), alpha, *placed[0],
                    *placed[1], beta, *placed[2], stream, None)
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


def _problem(size, layout, math, batch):
    try:
        m, n, k = size
    except TypeError:
        raise TypeError(f"size is {size!r}: it must be (m, n, k)") from None
    except ValueError:
        raise ValueError(f"size is {size!r}: it must be (m, n, k)") from None
    if not all(_is_whole(side) for side in (m, n, k)):
        raise TypeError(f"size is {size!r}: m, n and k must be whole numbers")
    if not all(-2**63 <= side < 2**63 for side in (m, n, k)):
        raise ValueError(f"size is {size!r}: that is too large")
    if not isinstance(layout, str):
        raise TypeError(f"layout is {layout!r}: it must be NN, NT, TN or TT")
    if layout not in ("NN", "NT", "TN", "TT"):
        raise ValueError(f"layout is {layout!r}: it must be NN, NT, TN or TT")
    return _c_api.Problem(m=m, n=n, k=k, op_a=layout[0] == "T", op_b=layout[1] == "T",
                          math=_math(math), batch=_count(batch, "batch"))


def query(size, *, layout="NN", batch=1, math="strict", device=None, max_error=None):
    """Returns a dictionary of the configuration that a product of (m, n, k) runs with, and why.

    layout: N or T for a and for b, T where it lies by columns. batch: products of one launch.
    device: None for the current GPU, "cpu" or the number of a GPU. median_us is of one launch, for
    tuned_for; None where nothing was measured. max_error asks for the fastest that is known for
    this very size and keeps to it (see tune()), in `math` or a stricter one: tuned_for_math.
    Raises Error where nothing is.
    """
    problem, choice = _problem(size, layout, math, batch), _c_api.Choice()
    if max_error is None:
        _c_api.call("query", _library_of(device), ctypes.byref(problem), ctypes.byref(choice))
    else:
        _c_api.call("query_within", _library_of(device), ctypes.byref(problem),
                    _positive(max_error, "max_error", whole=False), ctypes.byref(choice))
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


def _positive(value, name, whole):
    if value is None:
        return 0
    if not (_is_whole(value) if whole else isinstance(value, numbers.Real)):
        raise TypeError(f"{name} is {value!r}: it must be a{' whole' if whole else ''} number")
    if not value > 0:
        raise ValueError(f"{name} is {value}: it must be above 0")
    return value


def tune(sizes, *, layout="NN", batch=1, math="strict", device=None, seconds=None, trials=None,
         fresh=False, max_error=None, progress=None):
    """Searches for the fastest configurations of products of sizes [(m, n, k), ...], and stores them.

    The search ends with a budget for all sizes together, `seconds` or `trials`. Without a budget it
    ends when its space is exhausted, when 98 % of the best is estimated to be reached, or after
    30 s. progress(done,
    total, elapsed_seconds) is called meanwhile and ends the search by returning False. fresh:
    measures again what is known. max_error: the greatest relative error of a winner, in the
    Frobenius norm on uniform data, above 0 and below 1; kernels of `math` and of the stricter ones
    compete. The limit is of this search alone: query() with it says what was found. Returns a
    dictionary of what was done: trials that were `measured` and `known`, sizes that are `tuned`,
    whether it is `complete` and was `stored`.
    """
    problems = [_problem(size, layout, math, batch) for size in sizes]
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r}: it must be a function")
    raised = []

    def report(_, done, total, elapsed_seconds, best_us):
        try:
            return progress is None or progress(done, total, elapsed_seconds) is not False
        except BaseException as error:  # which must not pass through the library
            raised.append(error)
            return 0

    options = _c_api.TuneOptions(budget_seconds=_positive(seconds, "seconds", whole=False),
                                 budget_trials=_positive(trials, "trials", whole=True),
                                 max_error=_positive(max_error, "max_error", whole=False),
                                 fresh=bool(fresh), progress=_c_api.Progress(report))
    result = _c_api.TuneResult()
    _c_api.call("tune", _library_of(device), (_c_api.Problem * len(problems))(*problems),
                len(problems), ctypes.byref(options), ctypes.byref(result))
    if raised:
        raise raised[0]
    return {"measured": result.measured, "known": result.known, "tuned": result.tuned,
            "complete": bool(result.complete), "stored": bool(result.stored)}


def version():
    """Returns the version of the library that is loaded, as (major, minor, patch)."""
    number = _c_api.library().autotune_version()
    return number // 10000, number // 100 % 100, number % 100
