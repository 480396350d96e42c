"""A kernel's arguments: their values, and the files and directives that hand them to the program."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ..errors import UnsupportedError
from . import c_text
from .declaration import Argument, ElementType, element_type

_C_NAMES = {"float16": "half", "float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned",
            "int8": "char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short",
            "int64": "long long", "uint64": "unsigned long long"}
RELATIVE_TOLERANCE = 1e-5  # of numpy.allclose()


class Buffer(NamedTuple):
    """An array of the script, and what the kernel points to. `position` is its place among the arguments."""

    argument: Argument
    position: int
    array: Any  # numpy.ndarray
    elements: int  # of the kernel's type
    alias: Optional[str]  # the type's one word where the program does not know it, such as a macro


class Arguments(NamedTuple):
    """All arguments of a kernel; `scalars` have expressions of the program."""

    buffers: List[Buffer]
    scalars: Dict[str, str]

    @property
    def aliases(self) -> Dict[str, str]:
        """The types that the program cannot know, with those of the script's arrays."""
        return {each.alias: _C_NAMES[str(each.array.dtype)] for each in self.buffers if each.alias}


def bound(declared: Sequence[Argument], given: Any, types: Dict[str, str]) -> Arguments:
    """The script's values with the kernel's declared arguments. `types` are those of the template's parameters."""
    import numpy
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"arguments is {type(given).__name__}: it must be a list of NumPy's arrays and numbers")
    if len(given) != len(declared):
        raise TypeError(f"arguments has {len(given)} values, but the kernel has {len(declared)} arguments")
    result = Arguments([], {})
    for position, (argument, value) in enumerate(zip(declared, given)):
        what = f"arguments[{position}] ({argument.name})"
        words = [types.get(word, word) for word in argument.words]
        words = [word for each in words for word in each.split()]
        if isinstance(value, numpy.generic) and not argument.is_pointer:
            result.scalars[argument.name] = _scalar(value, words, what)
            continue
        array = _array(value, what)
        if not argument.is_pointer:
            raise TypeError(f"{what} is an array, but the kernel takes a value: give e.g. numpy.int32(1)")
        result.buffers.append(_buffer(argument, position, array, words, what))
    return result


def _array(value: Any, what: str) -> Any:
    import numpy
    if isinstance(value, numpy.ndarray):
        return value
    if isinstance(value, (bool, int, float, numpy.generic)) or not hasattr(value, "__array__"):
        raise TypeError(f"{what} is of {type(value).__name__}: it must be an array or a number of NumPy, e.g. "
                        "numpy.int32(5)")
    try:
        return numpy.asarray(value)
    except (TypeError, RuntimeError) as error:
        raise UnsupportedError(f"{what} is on a device: give its copy as an array of NumPy ({error})") from None


def _scalar(value: Any, words: List[str], what: str) -> str:
    if value.dtype.kind not in "biuf" or str(value.dtype) == "float16":
        raise UnsupportedError(f"{what} is of {value.dtype}: a value is a whole number, float32 or float64")
    is_real = words in (["float"], ["double"])
    if is_real != (value.dtype.kind == "f"):
        raise UnsupportedError(f"{what} is of {value.dtype}, but the kernel's argument is of {' '.join(words)}")
    return c_text.literal(value.item(), what)


def _buffer(argument: Argument, position: int, array: Any, words: List[str], what: str) -> Buffer:
    import numpy
    if str(array.dtype) in ("complex64", "complex128"):
        array = numpy.ascontiguousarray(array).view("float32" if str(array.dtype) == "complex64" else "float64")
    if str(array.dtype) not in _C_NAMES:
        raise UnsupportedError(f"{what} has elements of {array.dtype}: buffers have float32, float64, float16 or "
                               "integers")
    known = element_type(words)
    alias = None
    if known is None:
        if len(words) != 1 or words[0] in ("bool", "void"):
            raise UnsupportedError(f"{what} is of {' '.join(words)}*: buffers have float, double, half, integers or "
                                   "vectors of them")
        alias = argument.words[-1]
        known = ElementType(str(array.dtype), 1)  # a macro or another type of the source, of these elements
    is_same = known.dtype == str(array.dtype) or {known.dtype, str(array.dtype)} == {"int32", "uint32"}
    if not is_same:
        raise UnsupportedError(f"{what} has elements of {array.dtype}, but the kernel has {' '.join(words)}*: give "
                               f"an array of {known.dtype}")
    if array.size == 0 or array.size % known.width != 0:
        raise UnsupportedError(f"{what} has {array.size} elements of {array.dtype}: the kernel needs one "
                               f"{' '.join(words)} at least, and whole ones")
    return Buffer(argument, position, array, array.size // known.width, alias)


def save(path: str, array: Any) -> None:
    """Writes a file that the program reads: by rows, with numbers that have a sign."""
    import numpy
    array = numpy.ascontiguousarray(array)
    numpy.save(path, array.view("int32") if str(array.dtype) == "uint32" else array)


def write_data(folder: str, arguments: Arguments) -> None:
    """Writes the file of each buffer, NAME.npy."""
    for each in arguments.buffers:
        save(os.path.join(folder, each.argument.name + ".npy"), each.array)


def write_answers(folder: str, arguments: Arguments, answer: Any, count: int) -> List[str]:
    """Writes NAME.answer.npy for each output whose results the script gives, and returns their names."""
    import numpy
    if answer is None:
        return []
    if not isinstance(answer, (list, tuple)) or len(answer) != count:
        raise TypeError(f"answer must be a list of {count} entries, one for each argument: an array, or None")
    buffers = {each.position: each for each in arguments.buffers}
    names = []
    for position, expected in enumerate(answer):
        if expected is None:
            continue
        what = f"answer[{position}]"
        if position not in buffers:
            raise UnsupportedError(f"{what} is of an argument by value, which a kernel cannot change: use None")
        buffer = buffers[position]
        name = buffer.argument.name
        if buffer.argument.is_const:
            raise UnsupportedError(f"{what} is of {name}, which the kernel declares as const: use None")
        array = _array(expected, what)
        if str(array.dtype) in ("complex64", "complex128"):
            array = numpy.ascontiguousarray(array).view(buffer.array.dtype)
        if not numpy.can_cast(buffer.array.dtype, array.dtype):
            raise TypeError(f"{what} has elements of {array.dtype}, but {name} has {buffer.array.dtype}")
        if array.size != buffer.array.size:
            raise ValueError(f"{what} has {array.size} elements, but {name} has {buffer.array.size}")
        save(os.path.join(folder, name + ".answer.npy"), array.astype(buffer.array.dtype))
        names.append(name)
    return names
