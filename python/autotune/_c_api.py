"""The C API (autotune/autotune.h) by ctypes. Its structures, functions and numbers are known here only."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import sys
import weakref
from typing import Any, Callable, NamedTuple, Sequence

from . import _signals
from .errors import error_of

MATCHES = ("exact", "exact, stale", "nearest size", "predicted")
MATHS = ("strict", "emulated", "tf32")
MISSES = ("predict", "tune", "refuse", "background")
LEVELS = ("info", "warning")
OPERAND_A, OPERAND_B = 0, 1
_BACKGROUND = 3
ADDRESS, WHOLE, REAL = 0, 1, 2
Progress = Callable[[int, int, float], object]
_USAGE = 1
_DEVICE_CPU, _DEVICE_GPU = 1, 2


class _Struct(ctypes.Structure):
    """A structure of the C API, which begins with its size."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **members)


_Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
_Progress = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                             ctypes.c_double, ctypes.c_double)


class _Options(_Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("gpu", ctypes.c_int32),
        ("database", ctypes.c_char_p), ("worker_program", ctypes.c_char_p),
        ("no_shipped_winners", ctypes.c_int32), ("miss", ctypes.c_int32),
        ("miss_budget_seconds", ctypes.c_double), ("log", _Log),
        ("user", ctypes.c_void_p), ("bundle", ctypes.c_char_p),
        ("background_share", ctypes.c_double), ("max_workspace_bytes", ctypes.c_int64),
    ]


class Problem(_Struct):
    """A product: sizes, layouts, arithmetic and number."""

    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in "mnk"] + [
        (name, ctypes.c_int32) for name in ("op_a", "op_b", "math", "order")] + [
            ("batch", ctypes.c_int64)] + [
                (name, ctypes.c_int32) for name in ("type_a", "type_b", "type_c", "type_sums")]


class _Matrix(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("ld", ctypes.c_int64), ("stride", ctypes.c_int64),
        ("prepared", ctypes.c_void_p), ("type", ctypes.c_int32), ("reserved", ctypes.c_int32),
    ]


class _MutableMatrix(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("ld", ctypes.c_int64), ("stride", ctypes.c_int64),
        ("type", ctypes.c_int32), ("reserved", ctypes.c_int32),
    ]


class _GemmCall(_Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("problem", ctypes.POINTER(Problem)),
        ("alpha", ctypes.c_float), ("beta", ctypes.c_float),
        ("a", _Matrix), ("b", _Matrix), ("c", _MutableMatrix),
        ("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t), ("match", ctypes.POINTER(ctypes.c_int32)),
        ("alpha_ptr", ctypes.c_void_p), ("beta_ptr", ctypes.c_void_p), ("d", _MutableMatrix),
        ("workspace_not_zeroed", ctypes.c_int32), ("reserved", ctypes.c_int32),
    ]


class Choice(_Struct):
    """A configuration, and why it was chosen."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("match", ctypes.c_int32), ("tuned_math", ctypes.c_int32),
        ("tuned_m", ctypes.c_int64), ("tuned_n", ctypes.c_int64), ("tuned_k", ctypes.c_int64),
        ("median_us", ctypes.c_double), ("kernel", ctypes.c_char * 64),
        ("configuration", ctypes.c_char * 512), ("explanation", ctypes.c_char * 256),
        ("tuned_batch", ctypes.c_int64), ("baseline", ctypes.c_char * 64), ("baseline_us", ctypes.c_double),
        ("speedup", ctypes.c_double), ("speedup_low", ctypes.c_double), ("speedup_high", ctypes.c_double),
    ]


class _TuneOptions(_Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("budget_seconds", ctypes.c_double),
        ("budget_trials", ctypes.c_int64), ("strategy", ctypes.c_char_p),
        ("seed", ctypes.c_uint64), ("fresh", ctypes.c_int32), ("reserved", ctypes.c_int32),
        ("progress", _Progress), ("user", ctypes.c_void_p), ("max_error", ctypes.c_double),
    ]


class _KernelSource(_Struct):
    _fields_ = [
        ("size", ctypes.c_size_t), ("file", ctypes.c_char_p), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p),
        ("template_arguments", ctypes.POINTER(ctypes.c_char_p)), ("template_argument_count", ctypes.c_size_t),
        ("include_folders", ctypes.POINTER(ctypes.c_char_p)), ("include_folder_count", ctypes.c_size_t),
    ]


class _KernelSize(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class KernelArgument(_Struct):
    """An argument of a kernel's function."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("kind", ctypes.c_int32), ("type", ctypes.c_int32), ("elements", ctypes.c_int64),
        ("is_written", ctypes.c_int32), ("is_size", ctypes.c_int32), ("name", ctypes.c_char * 64),
    ]


class LaunchArgument(ctypes.Structure):
    """The value of an argument: of these members `kind` says which counts."""

    _fields_ = [
        ("kind", ctypes.c_int32), ("reserved", ctypes.c_int32), ("address", ctypes.c_void_p),
        ("whole", ctypes.c_int64), ("real", ctypes.c_double),
    ]


class TuneResult(_Struct):
    """What a search did."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("measured", ctypes.c_int64), ("known", ctypes.c_int64),
        ("tuned", ctypes.c_int64), ("complete", ctypes.c_int32), ("stored", ctypes.c_int32),
    ]


@functools.lru_cache(None)
def _c() -> ctypes.CDLL:
    """The shared library: the one that AUTOTUNE_LIBRARY names, that of this package, or any."""
    # An editable installation has the module's sources in one folder and the library in another.
    package = sys.modules[__package__ or ""]
    paths = (os.path.join(folder, "libautotune.so") for folder in package.__path__)
    own = next(filter(os.path.exists, paths), "libautotune.so")
    c = ctypes.CDLL(os.environ.get("AUTOTUNE_LIBRARY") or own)
    pointer = ctypes.c_void_p
    problem, choice, call = ctypes.POINTER(Problem), ctypes.POINTER(Choice), ctypes.POINTER(_GemmCall)
    new = ctypes.POINTER(ctypes.c_void_p)
    sizes, options = ctypes.POINTER(_KernelSize), ctypes.POINTER(_TuneOptions)
    result = ctypes.POINTER(TuneResult)
    functions: dict[str, Sequence[Any]] = {
        "open": [ctypes.POINTER(_Options), new],
        "close": [pointer],
        "gemm": [pointer, call],
        "prepare_operand": [pointer, problem, ctypes.c_int32, ctypes.POINTER(_Matrix), pointer, new],
        "prepared_destroy": [pointer],
        "stop_background": [pointer],
        "prepare": [pointer, problem, pointer],
        "release": [pointer, pointer],
        "trim": [pointer, ctypes.c_size_t],
        "device_name": [pointer, ctypes.c_char_p, ctypes.c_size_t],
        "plan_create": [pointer, problem, ctypes.c_int32, new],
        "plan_destroy": [pointer],
        "plan_workspace_bytes": [pointer, ctypes.POINTER(ctypes.c_size_t)],
        "plan_query": [pointer, choice],
        "plan_run": [pointer, call],
        "query": [pointer, problem, choice],
        "query_within": [pointer, problem, ctypes.c_double, choice],
        "tune": [pointer, problem, ctypes.c_size_t, options, result],
        "kernel_open": [pointer, ctypes.POINTER(_KernelSource), new],
        "kernel_close": [pointer],
        "kernel_tune": [pointer, sizes, ctypes.c_size_t, options, result],
        "kernel_query": [pointer, sizes, ctypes.c_size_t, choice],
        "kernel_argument_at": [pointer, sizes, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(KernelArgument)],
        "kernel_launch": [pointer, sizes, ctypes.c_size_t, ctypes.POINTER(LaunchArgument), ctypes.c_size_t, pointer],
    }
    for name, arguments in functions.items():
        getattr(c, "autotune_" + name).argtypes = arguments
    for name in "close", "plan_destroy", "prepared_destroy", "kernel_close":
        getattr(c, "autotune_" + name).restype = None
    c.autotune_version.restype = ctypes.c_uint32
    c.autotune_last_error.restype = ctypes.c_char_p
    return c


def _call(name: str, *arguments: Any) -> None:
    """Calls a function. Raises ValueError for a wrong call, Error for a fault."""
    status = getattr(_c(), "autotune_" + name)(*arguments)
    if status == 0:
        return
    message = _c().autotune_last_error().decode(errors="replace")
    if status == _USAGE:
        raise ValueError(message)
    raise error_of(message, status, _c().autotune_last_cuda_result())


class Handle:
    """An object of the C API, which `free` ends with the last reference to it. It keeps what it needs.

    It is not freed in a forked process, to which memory of a GPU does not belong, or at the process's end, when
    threads may still be at work with it.
    """

    def __init__(self, pointer: ctypes.c_void_p, free: str, keeps: object, logs: bool) -> None:
        self._as_parameter_ = pointer
        self.logs = logs
        self.free = weakref.finalize(self, _free, free, pointer, os.getpid(), keeps)
        self.free.atexit = False

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the object, during which a log function loses no signal."""
        if not self.logs:
            _call(name, self, *arguments)
            return
        with _signals.Deferred():
            _call(name, self, *arguments)


def _free(function: str, pointer: ctypes.c_void_p, process: int, _: object) -> None:
    if process == os.getpid():
        getattr(_c(), "autotune_" + function)(pointer)


class Settings(NamedTuple):
    """How library objects are opened, but for their device. Paths are absolute."""

    database: bytes | None = None
    bundle: bytes | None = None
    shipped_winners: bool = True
    miss: int = 0
    miss_seconds: float = 0.0
    program: bytes | None = None
    share: float = 0.0
    max_workspace_bytes: int = 0  # as the C API has it
    log: Callable[[str, str], object] | None = None


def open_library(device: int | str | None, settings: Settings) -> Handle:
    """Opens a library object for "cpu", the number of a GPU, or None, the current GPU."""
    if os.environ.get("AUTOTUNE_DB"):  # later objects too have the file of today's folder
        os.environ["AUTOTUNE_DB"] = os.path.abspath(os.environ["AUTOTUNE_DB"])
    options = _Options(
        database=settings.database, bundle=settings.bundle, worker_program=settings.program,
        no_shipped_winners=not settings.shipped_winners, miss=settings.miss,
        miss_budget_seconds=settings.miss_seconds, background_share=settings.share,
        max_workspace_bytes=settings.max_workspace_bytes)
    if device == "cpu":
        options.device = _DEVICE_CPU
    elif device is not None:
        options.device, options.gpu = _DEVICE_GPU, device
    log = settings.log and _log_of(settings.log)
    if log is not None:
        options.log = log
    pointer = ctypes.c_void_p()
    _call("open", ctypes.byref(options), ctypes.byref(pointer))
    library = Handle(pointer, "close", log, log is not None)
    if settings.miss == _BACKGROUND:
        atexit.register(_stop_at_exit, weakref.ref(library), os.getpid())
    return library


def _log_of(function: Callable[[str, str], object]) -> Any:
    def log(_: object, level: int, line: bytes) -> None:
        function(LEVELS[level], line.decode(errors="replace"))

    return _Log(log)


def _stop_at_exit(reference: weakref.ref[Handle], process: int) -> None:
    library = reference()
    if library is not None and process == os.getpid():
        stop_background(library)


def stop_background(library: Handle) -> None:
    """Ends tuning in the background."""
    library.call("stop_background")


class Operand(NamedTuple):
    """The place of a matrix, or of those of a batch; distances are in elements."""

    data: int
    ld: int
    stride: int = 0
    type: int = 0  # of its elements
    prepared: Handle | None = None


class Factors(NamedTuple):
    """The factors of a product: values, or addresses in the device's memory."""

    alpha: float
    beta: float
    alpha_ptr: int | None = None
    beta_ptr: int | None = None


def _matrix_of(operand: Operand) -> _Matrix:
    prepared = operand.prepared and operand.prepared._as_parameter_
    return _Matrix(operand.data, operand.ld, operand.stride, prepared and prepared.value, operand.type)


def _call_of(factors: Factors, operands: Sequence[Operand], stream: int, **more: Any) -> _GemmCall:
    a, b, c = operands[:3]
    d = operands[3] if len(operands) == 4 else Operand(0, 0)
    return _GemmCall(**factors._asdict(), a=_matrix_of(a), b=_matrix_of(b), c=_MutableMatrix(*c[:4]),
                     d=_MutableMatrix(*d[:4]), stream=stream, **more)


def gemm(library: Handle, problem: Problem, factors: Factors, operands: Sequence[Operand], stream: int) -> str:
    """Multiplies. operands: a, b, c, and d where there is one. Returns the match."""
    match = ctypes.c_int32()
    call = _call_of(factors, operands, stream, problem=ctypes.pointer(problem), match=ctypes.pointer(match))
    library.call("gemm", ctypes.byref(call))
    return MATCHES[match.value]


def prepare_operand(library: Handle, problem: Problem, which: int, place: Operand, stream: int) -> Handle:
    """Prepares an operand for many products."""
    prepared = ctypes.c_void_p()
    library.call("prepare_operand", ctypes.byref(problem), which, ctypes.byref(_matrix_of(place)), stream,
                 ctypes.byref(prepared))
    return Handle(prepared, "prepared_destroy", None, library.logs)


def query(library: Handle, problem: Problem, max_error: float | None) -> Choice:
    """Asks for the configuration of a problem, or for that which keeps to a limit of the error."""
    choice = Choice()
    if max_error is None:
        library.call("query", ctypes.byref(problem), ctypes.byref(choice))
    else:
        library.call("query_within", ctypes.byref(problem), max_error, ctypes.byref(choice))
    return choice


def warm_up(library: Handle, problem: Problem, stream: int) -> None:
    """Does the work of a first product on a stream."""
    library.call("prepare", ctypes.byref(problem), stream)


def release(library: Handle, stream: int) -> None:
    """Frees the memory that was allocated for a stream."""
    library.call("release", stream)


def trim(library: Handle, keep_bytes: int) -> None:
    """Frees memory that was allocated for streams until no more than keep_bytes are left."""
    library.call("trim", keep_bytes)


def device_name(library: Handle) -> str:
    """The name that results of the device are kept under."""
    name = ctypes.create_string_buffer(1024)
    library.call("device_name", name, len(name))
    return name.value.decode(errors="replace")


def plan(library: Handle, problem: Problem, aligned: bool, scalars_in_memory: bool) -> Handle:
    """Chooses and loads a kernel."""
    made = ctypes.c_void_p()
    library.call("plan_create", ctypes.byref(problem), aligned | scalars_in_memory << 1, ctypes.byref(made))
    return Handle(made, "plan_destroy", library, library.logs)


def plan_workspace_bytes(planned: Handle) -> int:
    """Bytes of memory that each run of a plan needs."""
    needed = ctypes.c_size_t()
    planned.call("plan_workspace_bytes", ctypes.byref(needed))
    return needed.value


def plan_query(planned: Handle) -> Choice:
    """Asks for the configuration of a plan."""
    choice = Choice()
    planned.call("plan_query", ctypes.byref(choice))
    return choice


def plan_run(planned: Handle, factors: Factors, operands: Sequence[Operand], stream: int,
             workspace: tuple[int, int], zeroed: bool) -> None:
    """Multiplies, as gemm() does. workspace: address and bytes."""
    call = _call_of(factors, operands, stream, workspace=workspace[0], workspace_bytes=workspace[1],
                    workspace_not_zeroed=not zeroed)
    planned.call("plan_run", ctypes.byref(call))


def tune(library: Handle, problems: Sequence[Problem], progress: Progress | None, **options: Any) -> TuneResult:
    """Tunes problems. Signal handlers and progress() run during the search, and what they raise ends it."""
    return _search("tune", library, (Problem * len(problems))(*problems), len(problems), progress, options)


def _search(function: str, of: Handle, problems: Any, count: int, progress: Progress | None,
            options: dict[str, Any]) -> TuneResult:
    signals = _signals.Deferred()
    raised: list[BaseException] = []

    def report(_: object, done: int, total: int, elapsed_seconds: float, best_us: float) -> bool:
        try:
            if not raised:
                return signals.run(lambda: progress is None or progress(done, total, elapsed_seconds) is not False)
        except BaseException as error:  # which must not pass through the library
            raised.append(error)
        return False

    arguments = _TuneOptions(progress=_Progress(report), **options)
    result = TuneResult()
    try:
        with signals:
            _call(function, of, problems, count, ctypes.byref(arguments), ctypes.byref(result))
    finally:
        if raised:
            raise raised[0]
    return result


def _texts(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * len(texts))(*map(os.fsencode, texts))


def kernel_open(library: Handle, file: bytes, name: str | None, text: str | None, template_arguments: Sequence[str],
                include_folders: Sequence[str]) -> Handle:
    """Reads a kernel's description."""
    source = _KernelSource(
        file=file, name=name and name.encode(), text=None if text is None else text.encode(),
        template_arguments=_texts(template_arguments), template_argument_count=len(template_arguments),
        include_folders=_texts(include_folders), include_folder_count=len(include_folders))
    kernel = ctypes.c_void_p()
    library.call("kernel_open", ctypes.byref(source), ctypes.byref(kernel))
    return Handle(kernel, "kernel_close", library, library.logs)


def _sizes(sizes: dict[str, int]) -> Any:
    return (_KernelSize * len(sizes))(*(_KernelSize(name.encode(), value) for name, value in sizes.items()))


def kernel_tune(kernel: Handle, sizes: dict[str, int], progress: Progress | None, **options: Any) -> TuneResult:
    """Tunes a kernel for sizes, as tune() does for problems."""
    return _search("kernel_tune", kernel, _sizes(sizes), len(sizes), progress, options)


def kernel_query(kernel: Handle, sizes: dict[str, int]) -> Choice:
    """Asks for the configuration of a launch."""
    choice = Choice()
    kernel.call("kernel_query", _sizes(sizes), len(sizes), ctypes.byref(choice))
    return choice


def kernel_argument(kernel: Handle, sizes: dict[str, int], index: int) -> KernelArgument:
    """Describes an argument of the kernel's function. Raises ValueError where there is none."""
    argument = KernelArgument()
    kernel.call("kernel_argument_at", _sizes(sizes), len(sizes), index, ctypes.byref(argument))
    return argument


def kernel_launch(kernel: Handle, sizes: dict[str, int], arguments: Sequence[LaunchArgument], stream: int) -> None:
    """Launches a kernel."""
    kernel.call("kernel_launch", _sizes(sizes), len(sizes), (LaunchArgument * len(arguments))(*arguments),
                len(arguments), stream)


def version() -> tuple[int, int, int]:
    """Returns the version of the library that is loaded, as (major, minor, patch)."""
    number = int(_c().autotune_version())
    return number // 10000, number // 100 % 100, number % 100
