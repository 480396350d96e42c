"""Checks of arguments, which refuse a value by the name of its argument."""

import ctypes
import math
import numbers

from . import _c_api

LONGEST = 1e9  # seconds: some 30 years, which the library's clock can count


def is_whole(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _text(value):
    try:
        return str(value)
    except ValueError:  # Python refuses to write whole numbers of several thousand digits
        return "a number of thousands of digits"


def _float(value):
    """A number as a float, infinite where it is beyond the range of one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def scalar(value, name):
    """A factor of a product, which the library takes in FP32."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: it must be a number")
    result = _float(value)
    if math.isinf(ctypes.c_float(result).value) and value not in (math.inf, -math.inf):
        raise ValueError(f"{name} is {_text(value)}: it must be within the range of FP32, e.g. 3e38")
    return result


def count(value, name, most=2**31 - 1):
    if not is_whole(value):
        raise TypeError(f"{name} is {value!r}: it must be a whole number")
    if not 0 < value <= most:
        raise ValueError(f"{name} is {_text(value)}: it must be from 1 to {most}")
    return int(value)


def amount(value, name, most=math.inf, below=math.inf):
    """A number above 0; 0 stands for None in the C API."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: it must be a number")
    result = _float(value)
    if not (result > 0 and result <= most and result < below):
        limit = f" and at most {most:g}" if most < math.inf else f" and below {below:g}"
        raise ValueError(f"{name} is {_text(value)}: it must be above 0{limit}")
    return result


def math_of(name):
    if not isinstance(name, str):
        raise TypeError(f"math is {name!r}: it must be one of {_c_api.MATHS}")
    if name not in _c_api.MATHS:
        raise ValueError(f"math is {name!r}: it must be one of {_c_api.MATHS}")
    return _c_api.MATHS.index(name)


def device(value):
    if value is not None and value != "cpu" and not is_whole(value):
        raise TypeError(f"device is {value!r}: it must be None, 'cpu' or the number of a GPU")
    if is_whole(value) and not 0 <= value < 2**31:
        raise ValueError(f"device is {_text(value)}: there is no such GPU")
    return value


def problem(size, layout, math, batch):
    """A problem of the C API."""
    try:
        m, n, k = size
    except TypeError:
        raise TypeError(f"size is {size!r}: it must be (m, n, k)") from None
    except ValueError:
        raise ValueError(f"size is {size!r}: it must be (m, n, k)") from None
    if not all(is_whole(side) for side in (m, n, k)):
        raise TypeError(f"size is {size!r}: m, n and k must be whole numbers")
    if not all(-2**63 <= side < 2**63 for side in (m, n, k)):
        raise ValueError(f"size is ({', '.join(map(_text, (m, n, k)))}): that is too large")
    if not isinstance(layout, str):
        raise TypeError(f"layout is {layout!r}: it must be NN, NT, TN or TT")
    if layout not in ("NN", "NT", "TN", "TT"):
        raise ValueError(f"layout is {layout!r}: it must be NN, NT, TN or TT")
    return _c_api.Problem(m=m, n=n, k=k, op_a=layout[0] == "T", op_b=layout[1] == "T",
                          math=math_of(math), batch=count(batch, "batch"))
