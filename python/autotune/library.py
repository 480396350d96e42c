"""The class Library."""

from __future__ import annotations

import functools
import os
import shutil
import threading
from types import TracebackType
from typing import Any, Callable, Iterable, TypeVar, Union, overload

from . import _c_api, arrays, problem
from .element_types import Types
from .plans import Plan
from .prepared import Prepared, array_of, handles_of
from .problem import Choice, Device, Factor, Size, Tuned

ArrayT = TypeVar("ArrayT")
Progress = _c_api.Progress
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class _Opening:
    """A C library object that one thread opens at its first use, while others wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may need it meanwhile
        self.library: _c_api.Handle | None = None


class Library:
    """Chooses, compiles, loads and runs kernels, and tunes them, with a database and rules of its own.

        library = autotune.Library(database="app.db", miss="refuse")
        c = library.matmul(a, b)

    device: "cpu", the CPU device, or the number of a GPU, to which products are limited then; None: each product
    runs where its arrays are, and other calls are for the current GPU unless their `device` says otherwise.
    database: path of the file of results; None: the user's. bundle: path of a file of `autotune export --bundle`,
    with whose kernels products on GPUs run; no compiler and no database is needed then, and tune() raises
    ValueError. shipped_winners: False leaves the results out that ship with the library.
    miss: what happens to a product that was not tuned. "predict" runs it with a predicted kernel, "tune" tunes
    it first, "refuse" raises NotTunedError, and "background" predicts and has processes of the program tune it
    meanwhile. miss_seconds: of the device's time to tune one size, by default 10. share: of any second of that
    time for tuning in the background, above 0 and at most 1, by default 0.05. program: path of the program
    `autotune`, in whose processes candidates of tune() run then; "background" needs it, and takes by default the
    one that the shell would start. max_workspace_bytes: the most memory that products keep for each stream; a
    kernel that needs more is passed over. log: a function that gets ("info" or "warning", line), in any thread.

    Nothing is opened or read before the first call, and a forked process opens its own. All functions may be
    called by several threads at once. Raises TypeError or ValueError for arguments that do not fit.
    """

    def __init__(self, device: Device = None, *, database: Path | None = None, bundle: Path | None = None,
                 shipped_winners: bool = True, miss: str = "predict", miss_seconds: float | None = None,
                 program: str | None = None, share: float | None = None, max_workspace_bytes: int | None = None,
                 log: Callable[[str, str], object] | None = None) -> None:
        self._device = problem.device_of(device)
        if bundle is not None and self._device == "cpu":
            raise ValueError("bundle has kernels for GPUs, and device is 'cpu': leave one of them out")
        if log is not None and not callable(log):
            raise TypeError(f"log is {log!r}: it must be a function")
        policy = problem.one_of(miss, "miss", _c_api.MISSES)
        if miss == "background":
            program = found_program(program)
        self._settings = _c_api.Settings(
            absolute(database), absolute(bundle), bool(shipped_winners), policy,
            0 if miss_seconds is None else problem.amount(miss_seconds, "miss_seconds", most=problem.LONGEST),
            absolute(program), 0 if share is None else problem.amount(share, "share", most=1),
            0 if max_workspace_bytes is None
            else problem.count(max_workspace_bytes, "max_workspace_bytes", least=0, most=2**63 - 1) or -1,
            None if log is None else functools.partial(log))  # which is hashable, whatever log is
        self._opened: dict[tuple[Device, int, _c_api.Settings], _Opening] = {}

    def close(self) -> None:
        """Ends its use: memory and kernels are freed when calls of other threads and plans have ended.

        The work of its products must have ended by then. A later call opens it anew.
        """
        self._opened.clear()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _on(self, device: Device) -> _c_api.Handle:
        """The C library object for a device, from the arguments of a call."""
        device = self._device if device is None else problem.device_of(device)
        if self._device not in (None, device):
            raise ValueError(f"device is {device!r}: this Library is for {self._device!r}")
        settings = self._settings if device != "cpu" else self._settings._replace(bundle=None)
        key = device, os.getpid(), settings
        opening = self._opened.get(key) or self._opened.setdefault(key, _Opening())
        if opening.library is None:
            with opening.lock:
                opening.library = opening.library or _c_api.open_library(device, settings)
        return opening.library

    @overload
    def matmul(self, a: Prepared[ArrayT], b: object, out: None = None, *, alpha: Factor = 1.0,
               beta: Factor = 0.0, stream: object = None, math: str = "strict", out_dtype: object = None) -> ArrayT: ...

    @overload
    def matmul(self, a: ArrayT, b: object, out: None = None, *, alpha: Factor = 1.0,
               beta: Factor = 0.0, stream: object = None, math: str = "strict", out_dtype: object = None) -> ArrayT: ...

    @overload
    def matmul(self, a: object, b: object, out: ArrayT, *, alpha: Factor = 1.0, beta: Factor = 0.0,
               stream: object = None, math: str = "strict", out_dtype: object = None) -> ArrayT: ...

    def matmul(self, a: Any, b: Any, out: Any = None, *, alpha: Factor = 1.0, beta: Factor = 0.0,
               stream: object = None, math: str = "strict", out_dtype: object = None) -> Any:
        """Returns out = alpha * a @ b + beta * out, with sums in FP32.

        a: m x k, b: k x n, out: m x n, all on the same device, by rows or by columns, with rows or
        columns any distance apart; out is made where it is not given, and overlaps neither a nor b.
        a and b have the same type, float32, float16 or bfloat16, and out has that type or float32.
        out_dtype: the type of an out that is made, as "float32" or torch.float32; None: that of a and b.
        With a third dimension in front, arrays of as many matrices are multiplied in one launch; a or b
        with one matrix, in two or three dimensions, is used for all products. On a GPU the work is
        enqueued on `stream`: a number or an object of PyTorch, CuPy or Numba; by default the stream
        that PyTorch works on or that the arrays name, else the default stream. Other arrays are
        multiplied on the CPU device, slowly. alpha and beta are numbers, or both arrays of one element on
        the product's device, which are read when it runs. math: "strict", or "emulated" for products on tensor cores
        that are as accurate, or "tf32" for products of operands that are rounded to TF32; both are for float32. a
        and b may be what prepare() returned.

        Raises TypeError or ValueError for arguments that do not fit, Error for faults.
        """
        if out is None and (problem.is_array(beta) or problem.scalar(beta, "beta") != 0):
            raise ValueError("beta is not 0, and there is no out to add to")
        if out is not None and out_dtype is not None:
            raise TypeError("out and out_dtype are given: leave one of them out")
        product = arrays.Product(array_of(a), array_of(b), out, out_dtype=out_dtype)
        self._multiply(product, (a, b), alpha, beta, stream, math)
        if out is not None:
            arrays.note_written(out)
        return product.out

    def gemm(self, a: Any, b: Any, c: Any, *, d: Any = None, alpha: Factor = 1.0, beta: Factor = 0.0,
             stream: object = None, math: str = "strict") -> str:
        """Does c = alpha * a @ b + beta * c, as matmul() does, and returns the match of the kernel that did it.

        With d, which lies as c does, has its type and overlaps none of the others, that gets the result and c is only
        read. The match is as query() has it: "exact", "exact, stale", "nearest size" or "predicted".
        Raises what matmul() raises.
        """
        product = arrays.Product(array_of(a), array_of(b), c, "c", d)
        match = self._multiply(product, (a, b), alpha, beta, stream, math)
        arrays.note_written(c if d is None else d)
        return match

    def _multiply(self, product: arrays.Product, operands: tuple[object, object], alpha: Factor, beta: Factor,
                  stream: object, math: str) -> str:
        factors = product.factors(alpha, beta)
        m, n, k = product.size
        a, b, c = product.a.by_rows, product.b.by_rows, product.by_rows
        asked = _c_api.Problem(m=m, n=n, k=k, op_a=a != c, op_b=b != c, order=not c, batch=product.batch or 1,
                               **problem.kind_of(product.types, math))
        places = product.operands(a != c, b != c, not c, handles_of(*operands))
        library, stream = self._on(product.c.device), arrays.stream_of(product.memories, stream)
        if product.batch == 0:
            return _c_api.MATCHES[0]
        return _c_api.gemm(library, asked, factors, places, stream)

    def prepare(self, array: ArrayT, *, math: str, m: int | None = None, n: int | None = None,
                stream: object = None) -> Prepared[ArrayT]:
        """Prepares an operand of many products once, and returns a Prepared, which matmul() takes.

        m: the number of rows of a product that has the array as b. n: the number of columns of a
        product that has it as a. One of them must be given. Kernels of "emulated" and "tf32" products
        of float32 split their operands into FP16 numbers before they multiply. Later products of any size that run
        with the kernel that this product has now do not split this operand again, and those that run
        with another kernel read the array. The results are the same bit for bit. The array must stay as
        it is and where it is. The preparation is enqueued on a stream as matmul() enqueues products,
        and products on other streams must be ordered behind it.

        Raises TypeError or ValueError for arguments that do not fit, Error for faults.
        """
        if (m is None) == (n is None):
            raise TypeError("give m, of products that have the array as b, or n, of those that have it as a")
        matrix = arrays.Matrix(array, "array")
        if matrix.batch is not None:
            raise ValueError("array has 3 dimensions: an operand is prepared for single products")
        types = Types(matrix.elements, matrix.elements)
        asked = _c_api.Problem(batch=1, **problem.kind_of(types, math))
        if n is None:
            which, asked.op_b = _c_api.OPERAND_B, not matrix.by_rows
            asked.m, (asked.k, asked.n) = problem.count(m, "m"), matrix.shape
        else:
            which, asked.op_a = _c_api.OPERAND_A, not matrix.by_rows
            (asked.m, asked.k), asked.n = matrix.shape, problem.count(n, "n")
        library = self._on(matrix.device)
        handle = _c_api.prepare_operand(library, asked, which, matrix.operand(matrix.by_rows, None),
                                        arrays.stream_of([matrix], stream))
        return Prepared(array, handle)

    def plan(self, size: Size, *, layout: str = "NN", batch: int = 1, math: str = "strict", type: str = "f32",
             out_type: str | None = None, device: Device = None, aligned: bool = False,
             scalars_in_memory: bool = False) -> Plan:
        """Chooses and loads the kernel of a product of (m, n, k), and returns it as a Plan.

        layout: N or T for a and for b, T where it lies by columns; c lies by rows. batch: products of
        one launch. type: of a and b, "f32", "f16" or "bf16", or as NumPy writes it. out_type: of c, "f32" or
        that of a and b, which None means. device: None for that of the Library or the current GPU, "cpu" or
        the number of a GPU. aligned: whether all addresses and all distances of rows, columns and
        matrices will be multiples of 16 bytes, which some kernels need. scalars_in_memory: whether
        calls give alpha and beta as arrays.

        Raises TypeError or ValueError for arguments that do not fit, NotTunedError where the Library
        refuses what was not tuned, and Error for other faults.
        """
        asked = problem.problem_of(size, layout, batch, math, type, out_type)
        device = self._device if device is None else problem.device_of(device)
        return Plan(_c_api.plan(self._on(device), asked, bool(aligned), bool(scalars_in_memory)), asked, device)

    def warm_up(self, size: Size, *, layout: str = "NN", batch: int = 1, math: str = "strict", type: str = "f32",
                out_type: str | None = None, device: Device = None, stream: object = None) -> None:
        """Does a first product's work on a stream without the product, so that later ones may be captured.

        The arguments are those of plan(), and the stream that of matmul(), by default the default stream.
        Raises what plan() raises.
        """
        asked = problem.problem_of(size, layout, batch, math, type, out_type)
        _c_api.warm_up(self._on(device), asked, arrays.stream_of((), stream))

    def release(self, stream: object = None, *, device: Device = None) -> None:
        """Frees the memory that products allocated for a stream, before that is destroyed.

        The work and the graphs of the stream must have ended. It does nothing on the CPU device.
        Raises TypeError or ValueError for arguments that do not fit, Error for faults.
        """
        _c_api.release(self._on(device), arrays.stream_of((), stream))

    def trim(self, keep_bytes: int = 0, *, device: Device = None) -> None:
        """Frees the memory that products allocated for the streams of the current context.

        The stream with the most memory is the first, until no more than keep_bytes are left. The work and the
        graphs of all streams must have ended. It does nothing on the CPU device. Raises TypeError or ValueError
        for arguments that do not fit, Error for faults.
        """
        _c_api.trim(self._on(device), problem.count(keep_bytes, "keep_bytes", least=0, most=2**63 - 1))

    def device_name(self, device: Device = None) -> str:
        """Returns the name that results of the device are kept under, as "NVIDIA H200". Raises Error without it."""
        return _c_api.device_name(self._on(device))

    def query(self, size: Size, *, layout: str = "NN", batch: int = 1, math: str = "strict", type: str = "f32",
              out_type: str | None = None, device: Device = None, max_error: float | None = None) -> Choice:
        """Returns a dictionary of the configuration that a product of (m, n, k) runs with, and why.

        layout: N or T for a and for b, T where it lies by columns. batch: products of one launch.
        type and out_type: those of plan(), and both in the answer's `type`, as "bf16-f32".
        device: None for that of the Library or the current GPU, "cpu" or the number of a GPU.
        median_us is of one launch, for tuned_for; None where nothing was measured. max_error asks for
        the fastest that is known for this very size and keeps to it (see tune()), in `math` or a
        stricter one: tuned_for_math.

        Raises NotTunedError where nothing keeps to max_error, and Error for other faults.
        """
        asked = problem.problem_of(size, layout, batch, math, type, out_type)
        limit = None if max_error is None else problem.amount(max_error, "max_error", below=1)
        return problem.choice_of(_c_api.query(self._on(device), asked, limit), asked)

    def tune(self, sizes: Iterable[Size], *, layout: str = "NN", batch: int = 1, math: str = "strict",
             type: str = "f32", out_type: str | None = None, device: Device = None, seconds: float | None = None,
             trials: int | None = None, fresh: bool = False, max_error: float | None = None,
             strategy: str | None = None, seed: int | None = None, progress: Progress | None = None) -> Tuned:
        """Searches for the fastest configurations of products of sizes [(m, n, k), ...], and stores them.

        layout, batch, math, type, out_type and device are those of plan(), for all sizes.
        The search ends with a budget for all sizes together, `seconds` or `trials`. Without a budget it
        ends when its space is exhausted, when 98 % of the best is estimated to be reached, or after
        30 s. progress(done, total, elapsed_seconds) is called meanwhile, in the calling thread, and ends the
        search by returning False. Signal handlers run at the same times: an interrupt ends the search. fresh:
        measures again what is known. max_error: the greatest relative error of a winner, in the
        Frobenius norm on uniform data, above 0 and below 1; kernels of `math` and of the stricter ones
        compete. The limit is of this search alone: query() with it says what was found. strategy: as the
        option --strategy of `autotune tune`; None: the library chooses. seed: from 1 on, of random choices.

        Returns a dictionary of what was done: trials that were `measured` and `known`, sizes that are `tuned`,
        whether it is `complete` and was `stored`. Raises TypeError or ValueError for arguments that do not fit,
        Error for faults, and what progress() or a signal handler raises.
        """
        asked = [problem.problem_of(size, layout, batch, math, type, out_type) for size in sizes]
        options = search_options(seconds, trials, fresh, strategy, seed, progress)
        return tuned_of(_c_api.tune(
            self._on(device), asked, progress, **options,
            max_error=0 if max_error is None else problem.amount(max_error, "max_error", below=1)))

    def stop_background(self) -> None:
        """Ends tuning in the background, at once. Products go on with the kernels that were found."""
        for (_, process, _), opening in list(self._opened.items()):
            if opening.library is not None and process == os.getpid():
                _c_api.stop_background(opening.library)


def search_options(seconds: float | None, trials: int | None, fresh: bool, strategy: str | None, seed: int | None,
                   progress: Progress | None) -> dict[str, Any]:
    """The options of a search, for the C API."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r}: it must be a function")
    if strategy is not None and not isinstance(strategy, str):
        raise TypeError(f"strategy is {strategy!r}: it must be a name")
    return {"fresh": bool(fresh), "strategy": strategy and strategy.encode(),
            "budget_seconds": 0 if seconds is None else problem.amount(seconds, "seconds", most=problem.LONGEST),
            "budget_trials": 0 if trials is None else problem.count(trials, "trials", most=2**63 - 1),
            "seed": 0 if seed is None else problem.count(seed, "seed", most=2**64 - 1)}


def tuned_of(done: _c_api.TuneResult) -> Tuned:
    """What a search did, as a dictionary."""
    return {"measured": done.measured, "known": done.known, "tuned": done.tuned,
            "complete": bool(done.complete), "stored": bool(done.stored)}


def absolute(path: Path | None) -> bytes | None:
    """A path from today's folder, for the C API."""
    return None if path is None else os.path.abspath(os.fsencode(path))


def found_program(program: str | None) -> str:
    """The path of the program, by default of the one that the shell would start."""
    found = shutil.which(program or "autotune")
    if found is None:
        missing = f"there is no program {program}" if program else "there is no autotune in PATH"
        raise ValueError(f"program is {program!r}, and {missing}: give the path of autotune")
    return found
