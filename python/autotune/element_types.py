"""The types of elements, as array libraries, the command line and the C API have them."""

from __future__ import annotations

from typing import NamedTuple


class ElementType(NamedTuple):
    """A type of elements."""

    number: int  # of the C API
    name: str
    short: str  # the command line's name
    bytes: int
    interface: tuple[str, ...]  # of the array interface
    dlpack: tuple[tuple[int, int], ...]  # codes and bits
    dtypes: tuple[str, ...]  # the names in array libraries


FP32 = ElementType(0, "FP32", "f32", 4, ("<f4",), ((2, 32),), ("float32",))
FP64 = ElementType(1, "FP64", "f64", 8, ("<f8",), ((2, 64),), ("float64",))
# The array interface knows no BF16. NumPy's extension ml_dtypes, and CuPy by it, give it as 2 bytes of any kind.
BF16 = ElementType(2, "BF16", "bf16", 2, ("<V2",), ((4, 16),), ("bfloat16",))
FP16 = ElementType(3, "FP16", "f16", 2, ("<f2",), ((2, 16),), ("float16",))
INT32 = ElementType(4, "integers of 32 bits", "i32", 4, ("<i4", "<u4"), ((0, 32), (1, 32)), ("int32", "uint32"))
# With a sign and without, each for the type of the C API.
INTEGERS = tuple(
    ElementType(5 + 2 * place + unsigned, f"integers of {bits} bits", f"{'iu'[unsigned]}{bits}", bits // 8,
                (f"{order}i{bits // 8}", f"{order}u{bits // 8}"), ((0, bits), (1, bits)), (f"int{bits}", f"uint{bits}"))
    for place, (bits, order) in enumerate(((8, "|"), (16, "<"), (64, "<"))) for unsigned in (0, 1))
TYPES = (FP32, FP64, BF16, FP16, INT32, *INTEGERS)  # by their numbers
MATRICES = (FP32, BF16, FP16)  # those of matrices


class Types(NamedTuple):
    """The types of a product: of a and b, and of the result. Its sums are FP32."""

    operands: ElementType
    result: ElementType

    def __str__(self) -> str:
        """As the command line writes it: "f32", "bf16", or "bf16-f32" where the result has another type."""
        return self.operands.short + ("" if self.result is self.operands else "-" + self.result.short)

    def are_computed(self) -> bool:
        """Whether there are kernels for them, where the operands are of MATRICES."""
        return self.result is self.operands or self.result is FP32


def dtype_name(dtype: object) -> str | None:
    """The name of an array library's type, such as torch.float32, numpy.float32 or its dtype; None for others."""
    for attribute in "name", "__name__":
        name = getattr(dtype, attribute, None)
        if isinstance(name, str):
            return name
    return str(dtype).rpartition(".")[2] if type(dtype).__module__ == "torch" else None


def is_bf16(array: object) -> bool:
    """Whether an array says that its elements are of BF16."""
    return dtype_name(getattr(array, "dtype", None)) in BF16.dtypes


def type_of(value: object, argument: str) -> ElementType:
    """The type of matrices that an argument names: as NumPy and PyTorch do, or the command line."""
    name = value if isinstance(value, str) else dtype_name(value)
    for each in MATRICES:
        if name in (each.short, *each.dtypes):
            return each
    kind = ValueError if isinstance(value, str) else TypeError
    names = ", ".join(f"'{each.dtypes[0]}' ('{each.short}')" for each in MATRICES)
    raise kind(f"{argument} is {value!r}: it must be one of {names}")


def named_types(operands: object, result: object) -> Types:
    """The types that the arguments type and out_type name; the result's is that of the operands where it is None."""
    operand = type_of(operands, "type")
    return Types(operand, named_result(operand, result, "out_type"))


def named_result(operands: ElementType, result: object, argument: str = "out_dtype") -> ElementType:
    """The type of the result that an argument names: that of the operands where it is None."""
    types = Types(operands, operands if result is None else type_of(result, argument))
    if not types.are_computed():
        raise ValueError(f"{argument} is {result!r}: a product of operands of {operands.name} "
                         f"is of {results_of(operands)}")
    return types.result


def results_of(operands: ElementType) -> str:
    """The types that a product of such operands may have."""
    return operands.name if operands is FP32 else f"{operands.name} or {FP32.name}"


def joined(types: tuple[ElementType, ...]) -> str:
    """The names of types in a sentence."""
    *others, last = (each.name for each in types)
    return f"{', '.join(others)} or {last}" if others else last
