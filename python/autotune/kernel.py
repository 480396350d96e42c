"""The class Kernel."""

from __future__ import annotations

import os
from math import prod
from typing import Any, Dict, Mapping, Optional, Sequence, TypedDict

from . import _c_api, problem
from ._default import DEFAULT
from .arrays import Memory, may_be_same, note_written, place_of, stream_of
from .element_types import TYPES
from .library import Library, Path, Progress, absolute, search_options, tuned_of
from .problem import Device, Tuned


class KernelChoice(TypedDict):
    """What Kernel.query() returns: the configuration that a launch gets, and why.

    `match` is "exact", "exact, stale" (measured with another driver, compiler or source), "nearest size" or
    "predicted": the default of the file. `median_us` is the time of one launch in microseconds, and None where
    nothing was measured.
    """

    match: str
    kernel: str
    configuration: Dict[str, int]
    median_us: Optional[float]
    explanation: str


class Kernel:
    """A CUDA kernel of one's own, which pragmas in its file describe.

        saxpy = autotune.Kernel("saxpy.cu")
        saxpy.tune(n=100000)                # once; the result is kept on disk
        saxpy.launch(2.0, x, y, 100000)     # PyTorch's, CuPy's, Numba's or NumPy's arrays

    file: path of the .cu file. name: of one of several kernels of the file. template_arguments: in the order of
    the template's parameters. include_folders: searched after the file's own. text: the content of the file, where
    it is in memory. library: whose device, database and rules are used; None: those of the module's functions.

    The file is read with the first call for each device, and a wrong description raises ValueError then. Sizes are
    given by their names, or as a dictionary `sizes` where a name is one of an argument. All functions may be
    called by several threads at once. Raises TypeError or ValueError for arguments that do not fit.
    """

    def __init__(self, file: Path, name: str | None = None, *, template_arguments: Sequence[object] = (),
                 include_folders: Sequence[Path] = (), text: str | None = None, library: Library | None = None) -> None:
        path = absolute(file) if file else None
        if path is None:
            raise TypeError(f"file is {file!r}: it must be a path")
        if isinstance(include_folders, (str, bytes)) or isinstance(template_arguments, (str, bytes)):
            raise TypeError("include_folders and template_arguments must be lists")
        for value, what in ((name, "name"), (text, "text")):
            if value is not None and "\0" in value:
                raise ValueError(f"{what} has a character 0")
        self._source = (path, name or None, text, [str(argument) for argument in template_arguments],
                        [os.fsdecode(os.path.abspath(folder)) for folder in include_folders])
        self._library = DEFAULT if library is None else library
        self._opened: dict[_c_api.Handle, _Opened] = {}  # by the library object: one for each device

    def _on(self, device: Device) -> _Opened:
        library = self._library._on(device)
        opened = self._opened.get(library)
        if opened is None:
            opened = self._opened.setdefault(library, _Opened(_c_api.kernel_open(library, *self._source)))
        return opened

    def tune(self, *, device: Device = None, seconds: float | None = None, trials: int | None = None,
             fresh: bool = False, strategy: str | None = None, seed: int | None = None,
             progress: Progress | None = None, sizes: Mapping[str, int] | None = None, **named: int) -> Tuned:
        """Searches for the fastest configuration for sizes, and stores what it measures.

        The other arguments, and what it returns and raises, are those of Library.tune().
        """
        options = search_options(seconds, trials, fresh, strategy, seed, progress)
        return tuned_of(_c_api.kernel_tune(self._on(device).kernel, _whole(sizes, named), progress, **options))

    def query(self, *, device: Device = None, sizes: Mapping[str, int] | None = None, **named: int) -> KernelChoice:
        """Says which configuration a launch for these sizes gets now, and why."""
        choice = _c_api.kernel_query(self._on(device).kernel, _whole(sizes, named))
        return {"match": _c_api.MATCHES[choice.match], "kernel": choice.kernel.decode(),
                "configuration": problem.entries_of(choice), "median_us": choice.median_us or None,
                "explanation": choice.explanation.decode(errors="replace")}

    def launch(self, *arguments: Any, stream: object = None, sizes: Mapping[str, int] | None = None,
               **named: int) -> None:
        """Launches the kernel with the arguments of its function, in their order: arrays and numbers.

        Arrays lie on one device, where the kernel runs, without gaps; each has as many elements as the file says of
        these sizes, or more. On a GPU the work is enqueued on `stream`, or on that of the arrays, and on the CPU
        it is done when launch() returns. sizes: those that are no arguments. The first launch for some sizes
        compiles and loads.
        """
        opened = self._on(next((place_of(each) for each in arguments if problem.is_array(each)), None))
        given = _whole(sizes, named)
        for value, argument in zip(arguments, opened.arguments({}, len(arguments))):
            if argument.is_size:
                name = argument.name.decode()
                if given.setdefault(name, problem.count(value, name)) != value:
                    raise ValueError(f"{name} is {value} among the arguments, and {given[name]} by its name")
        described = opened.arguments(given, len(arguments))
        memories = {i: _memory_of(arguments[i], each) for i, each in enumerate(described) if each.kind == _c_api.ADDRESS}
        places = {memory.name: memory.device for memory in memories.values()}
        if not all(may_be_same(one, other) for one in places.values() for other in places.values()):
            raise ValueError(f"the arrays are on different devices: {places}")
        values = [_c_api.LaunchArgument(kind=_c_api.ADDRESS, address=memories[i].data) if i in memories
                  else _number_of(arguments[i], each) for i, each in enumerate(described)]
        _c_api.kernel_launch(opened.kernel, given, values, stream_of(memories.values(), stream))
        for i in memories:
            if described[i].is_written:
                note_written(arguments[i])


class _Opened:
    """A kernel on a device, with what is known of its arguments for some sizes."""

    MOST = 64  # sizes

    def __init__(self, kernel: _c_api.Handle) -> None:
        self.kernel = kernel
        self.known: dict[tuple[tuple[str, int], ...], list[_c_api.KernelArgument]] = {}

    def arguments(self, sizes: dict[str, int], count: int) -> list[_c_api.KernelArgument]:
        key = tuple(sizes.items())
        known = self.known.get(key, [])
        if len(known) != count:
            known = [_c_api.kernel_argument(self.kernel, sizes, index) for index in range(count)]
            if len(self.known) >= self.MOST:
                self.known.clear()
            self.known[key] = known
        return known


def _whole(sizes: Mapping[str, int] | None, named: dict[str, int]) -> dict[str, int]:
    return {name: problem.count(value, name) for name, value in {**(sizes or {}), **named}.items()}


def _memory_of(array: Any, described: _c_api.KernelArgument) -> Memory:
    memory = Memory(array, described.name.decode(), (TYPES[described.type],))
    steps = zip(memory.shape, memory.strides, memory.packed())
    if prod(memory.shape) > 1 and any(length > 1 and stride != packed for length, stride, packed in steps):
        raise ValueError(f"{memory.name} has gaps between its elements, or another order: it must be contiguous")
    if prod(memory.shape) < described.elements:
        raise ValueError(f"{memory.name} has {prod(memory.shape)} elements: the kernel needs {described.elements}")
    if described.is_written and memory.read_only:
        raise ValueError(f"{memory.name} is read-only")
    return memory


def _number_of(value: object, described: _c_api.KernelArgument) -> _c_api.LaunchArgument:
    name = described.name.decode()
    if described.kind == _c_api.WHOLE:
        return _c_api.LaunchArgument(kind=_c_api.WHOLE, whole=problem.count(value, name, -2**63, 2**63 - 1))
    return _c_api.LaunchArgument(kind=_c_api.REAL, real=problem.number(value, name))
