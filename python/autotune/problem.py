"""The problem of a call and the answer to it, with checks that refuse a value by its argument's name."""

from __future__ import annotations

import ctypes
import math as maths
import numbers
from typing import Any, Dict, Optional, Sequence, Tuple, TypedDict, Union

from . import _c_api
from .element_types import FP32, TYPES, Types, named_types

LONGEST = 1e9  # seconds: some 30 years, which the library's clock can count
LAYOUTS = ("NN", "NT", "TN", "TT")

Device = Union[int, str, None]
Factor = Any  # a number, or an array of one element on the product's device
Size = Sequence[int]


class Baseline(TypedDict):
    """What a vendor's library took, timed in turn with a kernel, and how many times as long, with a 95 % interval."""

    library: str
    median_us: float
    speedup: float
    speedup_low: float
    speedup_high: float


class Choice(TypedDict):
    """What query() returns: the configuration that a product runs with, and why.

    `match` is "exact", "exact, stale" (measured with another driver, compiler or source), "nearest size" or
    "predicted". `median_us` is the time of one launch in microseconds, as measured for `tuned_for`, (m, n, k),
    and None where nothing was measured. `type` is that of a and b and the result, as "f32" or "bf16", or with another
    type of the result as "bf16-f32". `baseline` is that of cuBLAS for `tuned_for`, and None where it was not timed
    (`autotune tune --compare cublas`, `autotune bench --against cublas`).
    """

    match: str
    kernel: str
    configuration: Dict[str, int]
    tuned_for: Tuple[int, int, int]
    tuned_for_batch: int
    tuned_for_math: str
    type: str
    median_us: Optional[float]
    explanation: str
    baseline: Optional[Baseline]


class Tuned(TypedDict):
    """What tune() returns.

    The trials that were `measured` by this call and that were `known` before, the number of sizes that are
    `tuned` now, whether the search is `complete`, so that the same call again measures nothing, and whether
    the results were `stored`.
    """

    measured: int
    known: int
    tuned: int
    complete: bool
    stored: bool


def whole(value: object) -> int | None:
    """A whole number of any type as an int; None for any other value."""
    if type(value) is int:  # in less time
        return value
    return int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to write whole numbers of several thousand digits
        return "a number of thousands of digits"


def is_array(value: object) -> bool:
    """Whether a factor is given as an array. NumPy's numbers have the interface of arrays, too."""
    interfaces = "__cuda_array_interface__", "__array_interface__", "__dlpack__"
    return not isinstance(value, numbers.Real) and any(hasattr(type(value), name) for name in interfaces)


def number(value: object, name: str) -> float:
    """A number as a float, infinite where it is beyond the range of one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: it must be a number")
    try:
        return float(value)
    except OverflowError:
        return -maths.inf if value < 0 else maths.inf


def scalar(value: object, name: str) -> float:
    """A factor of a product, which the library takes in FP32."""
    result = number(value, name)
    if maths.isinf(ctypes.c_float(result).value) and value not in (maths.inf, -maths.inf):
        raise ValueError(f"{name} is {_text(value)}: it must be within the range of FP32, e.g. 3e38")
    return result


def count(value: object, name: str, least: int = 1, most: int = 2**31 - 1) -> int:
    """A whole number in a range."""
    result = whole(value)
    if result is None:
        raise TypeError(f"{name} is {value!r}: it must be a whole number")
    if not least <= result <= most:
        raise ValueError(f"{name} is {_text(value)}: it must be from {least} to {most}")
    return result


def amount(value: object, name: str, most: float = maths.inf, below: float = maths.inf) -> float:
    """A number above 0; 0 stands for None in the C API."""
    result = number(value, name)
    if not (result > 0 and result <= most and result < below):
        limit = f" and at most {most:g}" if most < maths.inf else f" and below {below:g}"
        raise ValueError(f"{name} is {_text(value)}: it must be above 0{limit}")
    return result


def one_of(value: object, name: str, names: Sequence[str]) -> int:
    """The index of a name among those that an argument may have."""
    if isinstance(value, str) and value in names:
        return names.index(value)
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"{name} is {value!r}: it must be one of {', '.join(map(repr, names))}")


def math_of(name: object, types: Types) -> int:
    """The C API's number of an arithmetic for products of some types."""
    math = one_of(name, "math", _c_api.MATHS)
    if math != 0 and types.operands is not FP32:
        raise ValueError(f"math is {name!r}, which is for operands of FP32: leave it out for {types.operands.name}, "
                         "whose sums are FP32")
    return math


def device_of(value: object) -> Device:
    """A device as None, "cpu" or the number of a GPU."""
    number = whole(value)
    if number is None:
        if value is None or value == "cpu":
            return None if value is None else "cpu"
        raise TypeError(f"device is {value!r}: it must be None, 'cpu' or the number of a GPU")
    if not 0 <= number < 2**31:
        raise ValueError(f"device is {_text(value)}: there is no such GPU")
    return number


def problem_of(size: Size, layout: str, batch: int, math: str, of_type: str, out_type: str | None) -> _c_api.Problem:
    """The C API's problem of a size (m, n, k), with C by rows."""
    try:
        m, n, k = map(whole, size)
    except (TypeError, ValueError) as error:
        raise type(error)(f"size is {size!r}: it must be (m, n, k)") from None
    if m is None or n is None or k is None:
        raise TypeError(f"size is {size!r}: m, n and k must be whole numbers")
    if not all(-2**63 <= side < 2**63 for side in (m, n, k)):
        raise ValueError(f"size is ({', '.join(map(_text, (m, n, k)))}): that is too large")
    one_of(layout, "layout", LAYOUTS)
    types = named_types(of_type, out_type)
    return _c_api.Problem(m=m, n=n, k=k, op_a=layout[0] == "T", op_b=layout[1] == "T", batch=count(batch, "batch"),
                          **kind_of(types, math))


def kind_of(types: Types, math: str) -> dict[str, int]:
    """Those members of the C API's problem that say what is computed."""
    a, c = types.operands.number, types.result.number
    return {"type_a": a, "type_b": a, "type_c": c, "math": math_of(math, types)}


def types_of(asked: _c_api.Problem) -> Types:
    """The types of a problem."""
    return Types(TYPES[asked.type_a], TYPES[asked.type_c])


def entries_of(choice: _c_api.Choice) -> dict[str, int]:
    """The parameters of a configuration."""
    entries = (entry.split("=") for entry in choice.configuration.decode().split(",") if entry)
    return {name: int(value) for name, value in entries}


def choice_of(choice: _c_api.Choice, asked: _c_api.Problem) -> Choice:
    """The C API's answer to a problem as a dictionary. It is of the same types."""
    baseline: Baseline = {"library": choice.baseline.decode(errors="replace"), "median_us": choice.baseline_us,
                          "speedup": choice.speedup, "speedup_low": choice.speedup_low,
                          "speedup_high": choice.speedup_high}
    return {
        "match": _c_api.MATCHES[choice.match],
        "kernel": choice.kernel.decode(),
        "configuration": entries_of(choice),
        "tuned_for": (choice.tuned_m, choice.tuned_n, choice.tuned_k),
        "tuned_for_batch": choice.tuned_batch,
        "tuned_for_math": _c_api.MATHS[choice.tuned_math],
        "type": str(types_of(asked)),
        "median_us": choice.median_us or None,
        "explanation": choice.explanation.decode(errors="replace"),
        "baseline": baseline if choice.baseline else None,
    }
