"""Arrays of other libraries as the matrices and streams of the C API."""

from __future__ import annotations

import ctypes
import sys
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, Callable, Iterable, TypeVar, cast

from . import _c_api, element_types, problem
from .element_types import BF16, FP32, MATRICES, ElementType, Types
from .problem import Device, whole

T = TypeVar("T")


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _ManagedTensor(ctypes.Structure):
    """DLManagedTensorVersioned, which arrays give since DLPack 1.0."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_READ_ONLY, _IS_COPY = 1, 2  # its flags: neither takes what out gets

_is_capsule_of = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


class Memory:
    """An array in memory of one of some types, with its strides in elements."""

    elements: ElementType
    data: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __init__(self, array: Any, name: str, types: tuple[ElementType, ...] = (FP32,)) -> None:
        self.name = name
        self._types = types
        self.device: Device = "cpu"
        self.stream: int | None = None
        array = self._from_pytorch(array)
        self.keeps = array  # what owns the memory
        self.read_only = False
        if self._from_tensor(array):
            return
        if getattr(getattr(array, "mask", None), "shape", ()) != ():  # NumPy's; it has none in its interface
            raise TypeError(f"{name} has a mask")
        if not (self._from_interface(array) or self._from_dlpack(array)):
            raise TypeError(f"{name} is {type(array).__name__}: it must be an array on a GPU or "
                            "the CPU (__cuda_array_interface__, __array_interface__ or DLPack)")
        if type(array).__module__.startswith("jaxlib"):  # JAX's arrays, which do not all say so
            self.read_only = True

    def packed(self) -> tuple[int, ...]:
        """The strides of an array whose elements lie behind each other, the last index first."""
        return tuple(accumulate(self.shape[:0:-1], mul, initial=1))[::-1]

    def _from_pytorch(self, array: Any) -> Any:
        """A tensor of PyTorch as one that gives its memory, where no gradient is recorded; others as they are."""
        torch = _pytorch_of(array)
        if torch is None:
            return array
        if array.is_neg():  # its memory has the opposite numbers
            raise TypeError(f"{self.name} is a negated view: give its resolve_neg()")
        if hasattr(array, "fake_mode"):
            raise TypeError(f"{self.name} is a fake tensor: it has no elements")
        return array.detach() if array.requires_grad and not torch.is_grad_enabled() else array

    def _from_tensor(self, array: Any) -> bool:
        """A plain tensor of PyTorch, in less time than by the ways below, which say what is wrong with others."""
        torch = _pytorch_of(array)
        if torch is None or type(array).__module__ not in ("torch", "torch.nn.parameter"):
            return False
        elements = self._pytorch_type(array.dtype, torch)
        if (elements is None or array.layout is not torch.strided
                or array.device.type not in ("cpu", "cuda") or array.requires_grad):
            return False
        self.elements = elements
        self.data, self.shape, self.strides = self._read(array.data_ptr), tuple(array.shape), array.stride()
        if array.is_cuda:
            self.device, self.stream = array.device.index, _current_stream(array)
        return True

    def _from_interface(self, array: Any) -> bool:
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
        typestr = interface["typestr"]
        for each in self._types:
            if typestr in each.interface and (each is not BF16 or element_types.is_bf16(array)):
                self.elements = each
                break
        else:
            raise self._wrong_type(f"type {typestr}")
        if interface.get("mask") is not None:
            raise TypeError(f"{self.name} has a mask")
        self.data, self.read_only = interface["data"]
        self.shape = tuple(interface["shape"])
        strides = interface.get("strides")
        if strides is not None and any(stride % self.elements.bytes for stride in strides):
            raise ValueError(f"{self.name} has strides that are not whole elements")
        self.strides = self.packed() if strides is None else tuple(stride // self.elements.bytes for stride in strides)
        return True

    def _from_dlpack(self, array: Any) -> bool:
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
        self.keeps = self._read(lambda: _capsule_of(array, options))
        tensor = self._tensor_in(self.keeps)
        found = [each for each in self._types if (tensor.code, tensor.bits) in each.dlpack and tensor.lanes == 1]
        if not found:
            raise self._wrong_type(f"DLPack's type {tensor.code} with {tensor.bits} bits")
        self.elements = found[0]
        self.data = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[:tensor.ndim])
        self.strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else self.packed()
        return True

    def _pytorch_type(self, dtype: object, torch: Any) -> ElementType | None:
        for each in self._types:
            for name in each.dtypes:
                if dtype is getattr(torch, name, None):
                    return each
        return None

    def _wrong_type(self, what: str) -> TypeError:
        return TypeError(f"{self.name} has elements of {what}: they must be {element_types.joined(self._types)}")

    def _tensor_in(self, capsule: object) -> _DLTensor:
        if not _is_capsule_of(capsule, b"dltensor_versioned"):
            return _DLTensor.from_address(_pointer_in(capsule, b"dltensor"))
        managed = _ManagedTensor.from_address(_pointer_in(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"{self.name} has version {managed.major} of DLPack: it must be 1 or older")
        self.read_only = bool(managed.flags & (_READ_ONLY | _IS_COPY))
        return cast(_DLTensor, managed.tensor)

    def _read(self, get: Callable[[], T]) -> T:
        """What an array says of itself. PyTorch, for one, raises where a gradient is recorded."""
        try:
            return get()
        except Exception as error:
            raise TypeError(f"{self.name} does not give its memory: {error}") from error


class Matrix(Memory):
    """An array as a matrix, or as a batch of matrices.

    `shape` and `strides` are those of one matrix, `batch` None for an array of two dimensions.
    """

    def __init__(self, array: Any, name: str) -> None:
        super().__init__(array, name, MATRICES)
        if len(self.shape) not in (2, 3):
            raise ValueError(f"{name} has {len(self.shape)} dimensions: it must be a matrix, or an array "
                             "of matrices with 3")
        self.batch = self.shape[0] if len(self.shape) == 3 else None
        self.shape = self.shape[-2:]
        self.batch_stride = self.strides[0] if self.batch is not None else prod(self.shape)
        self.strides = self.strides[-2:]
        self._lds = self._ld_by(columns=True), self._ld_by(columns=False)
        self.by_rows = self._lds[1] is not None
        if self._lds == (None, None):
            raise ValueError(f"{name} has strides of {self.strides[0]} and {self.strides[1]} elements: "
                             "one must be 1, and the other no less than a row or column")

    def _ld_by(self, columns: bool) -> int | None:
        """The elements from one row, or column, to the next; None where the matrix does not lie so."""
        lines, length = self.shape[::-1] if columns else self.shape
        between, within = self.strides[::-1] if columns else self.strides
        if lines * length == 0:
            return length
        if (length == 1 or within == 1) and (lines == 1 or between >= length):
            return length if lines == 1 else between
        return None

    def operand(self, by_rows: bool, batch: int | None, prepared: _c_api.Handle | None = None) -> _c_api.Operand:
        """The matrix by rows or columns in a batch of products, which all have it where it is a single one."""
        ld = self._lds[by_rows]
        if ld is None:
            raise ValueError(f"{self.name} lies by {'columns' if by_rows else 'rows'}: the plan is for matrices by "
                             f"{'rows' if by_rows else 'columns'}")
        return _c_api.Operand(self.data, ld, self.batch_stride if self.batch == batch else 0, self.elements.number,
                               prepared)


def _capsule_of(array: Any, options: dict[str, int | None]) -> object:
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # an older array, which does not say whether it may be written to
        return array.__dlpack__(**options)


def place_of(array: Any) -> Device:
    """The device of an array; None for a GPU that it does not name."""
    if hasattr(array, "__dlpack_device__"):
        kind, number = array.__dlpack_device__()
        return int(number) if kind == 2 else "cpu"
    return _gpu_of(array) if hasattr(array, "__cuda_array_interface__") else "cpu"


def _gpu_of(array: object) -> int | None:
    """The number of an array's GPU; None where it does not say."""
    device = getattr(array, "device", None)
    for name in ("index", "id"):  # PyTorch, CuPy
        number = whole(getattr(device, name, None))
        if number is not None:
            return number
    return None


def _pytorch_of(array: object) -> Any:
    """PyTorch, where the array is its tensor; else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, getattr(torch, "Tensor", ())) else None


def _current_stream(array: Any) -> int | None:
    """The stream that an array's library works on; None where it does not say."""
    torch = _pytorch_of(array)
    return (torch.cuda.current_stream(array.device).cuda_stream or None) if torch else None


def note_written(array: object) -> None:
    """Has PyTorch refuse gradients that need what was in the array before."""
    torch = _pytorch_of(array)
    if hasattr(torch, "autograd") and hasattr(torch.autograd.graph, "increment_version"):  # since 2.1
        torch.autograd.graph.increment_version(array)


def _handle_of(stream: object) -> int:
    """A CUDA stream as a number, from a number or from PyTorch's, CuPy's or Numba's object."""
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            stream = getattr(value, "value", value)
            break
    number = whole(stream)
    if number is None or number < 0:
        raise TypeError(f"stream is {stream!r}: it must be a CUDA stream or the number of one")
    if number >= 2**64:
        raise ValueError(f"stream is {stream}: there is no such stream")
    return number


def stream_of(memories: Iterable[Memory], stream: object) -> int:
    """The stream that is given, else that of the arrays, as a number."""
    if stream is None:
        streams = {memory.stream for memory in memories if memory.stream is not None}
        if len(streams) > 1:
            raise ValueError("the arrays name different streams: give stream")
        stream = streams.pop() if streams else 0
    return _handle_of(stream)


def may_be_same(device: Device, other: Device) -> bool:
    """Whether devices can be the same: None is a GPU whose number is not known."""
    return device == other or (None in (device, other) and "cpu" not in (device, other))


def workspace_of(array: object, device: Device) -> tuple[int, int]:
    """The address and the bytes of the memory that an array gives to products on a device."""
    memory = Memory(array, "workspace")
    if not may_be_same(memory.device, device):
        raise ValueError(f"workspace is on another device than the matrices: {memory.device!r} and {device!r}")
    if memory.read_only:
        raise ValueError("workspace is read-only")
    if memory.strides != memory.packed():
        raise ValueError("workspace has gaps between its elements: it must be contiguous")
    return memory.data, 4 * prod(memory.shape)


def empty_like(array: Any, shape: tuple[int, ...], types: Types) -> Any:
    """A new matrix of the kind of an array of operands, for the result."""
    is_same = types.result is types.operands
    name = types.result.dtypes[0]
    if hasattr(array, "new_empty"):  # PyTorch
        return array.new_empty(shape, dtype=array.dtype if is_same else getattr(_pytorch_of(array), name))
    module: Any = sys.modules.get(type(array).__module__.split(".")[0])
    if not hasattr(module, "empty"):
        raise TypeError(f"a matrix like {type(array).__name__} cannot be made: "
                        "give out, an array that can be written to")
    return module.empty(shape, dtype=array.dtype if is_same else name)


class Product:
    """The matrices of out = a @ b, which fit each other; `out` is made where it is None.

    With d: those of d = a @ b + out. out_dtype: the type of the result; None for that of out, or of the operands.
    """

    def __init__(self, a: Any, b: Any, out: Any, name: str = "out", d: Any = None, out_dtype: object = None) -> None:
        self.a, self.b = Matrix(a, "a"), Matrix(b, "b")
        operands = self.a.elements
        if operands is not self.b.elements:
            raise TypeError(f"a is of {operands.name} and b of {self.b.elements.name}: both must have the same type, "
                            "so convert one of them")
        (m, k), (k_of_b, n) = self.a.shape, self.b.shape
        if k != k_of_b:
            raise ValueError(f"a is {m} x {k} and b is {k_of_b} x {n}: they cannot be multiplied")
        self.batch = _batch_of(self.a, self.b)
        if out is None:
            types = Types(operands, element_types.named_result(operands, out_dtype))
            out = empty_like(a, (m, n) if self.batch is None else (self.batch, m, n), types)
        self.out, self.c = out, Matrix(out, name)
        results = [self.c] if d is None else [self.c, Matrix(d, "d")]
        self.types = Types(operands, self.c.elements)
        if not self.types.are_computed():
            raise TypeError(f"{name} is of {self.c.elements.name}, and a and b are of {operands.name}: "
                            f"it must be of {element_types.results_of(operands)}")
        if results[-1].elements is not self.c.elements:
            raise TypeError(f"{name} is of {self.c.elements.name} and d of {results[-1].elements.name}: "
                            "both must have the same type")
        for result in results:
            if result.shape != (m, n):
                raise ValueError(f"{result.name} is {result.shape[0]} x {result.shape[1]}: it must be {m} x {n}")
            if result.batch != self.batch:
                raise ValueError(f"{result.name} has {_matrices(result.batch)}: "
                                 f"it must have {_matrices(self.batch)}")
        if results[-1].read_only:
            raise ValueError(f"{results[-1].name} is read-only")
        self.by_rows = all(result.by_rows for result in results)
        if any(result._lds[self.by_rows] is None for result in results):
            raise ValueError(f"d lies by {'rows' if results[-1].by_rows else 'columns'} and {name} does not: "
                             "both must lie alike")
        self.matrices = [self.a, self.b, *results]
        self.memories: list[Memory] = list(self.matrices)  # with the factors'
        devices = [matrix.device for matrix in self.matrices]
        if len(set(devices)) > 1:
            names = [matrix.name for matrix in self.matrices]
            raise ValueError(f"{', '.join(names[:-1])} and {names[-1]} are on different devices: {devices}")
        self.size = m, n, k

    def factors(self, alpha: Any, beta: Any) -> _c_api.Factors:
        """The factors as values, or as the addresses of arrays of one element on the product's device."""
        are_arrays = [problem.is_array(factor) for factor in (alpha, beta)]
        if any(are_arrays) and not all(are_arrays):
            raise TypeError("alpha and beta: both must be numbers, or both arrays of one element")
        if not any(are_arrays):
            return _c_api.Factors(problem.scalar(alpha, "alpha"), problem.scalar(beta, "beta"))
        places = Memory(alpha, "alpha"), Memory(beta, "beta")
        for place in places:
            if prod(place.shape) != 1:
                raise ValueError(f"{place.name} is of shape {place.shape}: it must have one element")
            if not may_be_same(place.device, self.c.device):
                raise ValueError(f"{place.name} is on the device {place.device!r}, and {self.c.name} on "
                                 f"{self.c.device!r}")
        self.memories += places
        return _c_api.Factors(0, 0, places[0].data, places[1].data)

    def operands(self, op_a: bool, op_b: bool, by_columns: bool, prepared: Iterable[_c_api.Handle | None],
                 ) -> list[_c_api.Operand]:
        """The matrices for the C API, by these layouts. Operands of a batch are used as their arrays are."""
        left, right = prepared if self.batch is None else (None, None)
        return [self.a.operand(op_a == by_columns, self.batch, left),
                self.b.operand(op_b == by_columns, self.batch, right),
                *(result.operand(not by_columns, self.batch) for result in self.matrices[2:])]


def _matrices(batch: int | None) -> str:
    return "two dimensions" if batch is None else f"{batch} matrices in three dimensions"


def _batch_of(a: Matrix, b: Matrix) -> int | None:
    """The number of products; None for one of two dimensions."""
    if a.batch is None or b.batch is None:
        return b.batch if a.batch is None else a.batch
    if a.batch != b.batch and 1 not in (a.batch, b.batch):
        raise ValueError(f"a has {a.batch} matrices and b has {b.batch}: they must be as many, or one")
    return b.batch if a.batch == 1 else a.batch
