"""Constant memory: the values of `cmem_args` become initial values in the kernel's text."""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..errors import UnsupportedError
from . import c_text
from .messages import shown

MOST_BYTES = 65536  # of constant memory


def with_constants(text: str, cmem_args: Any) -> str:
    """The text, in which each named variable of constant memory has its values."""
    import numpy
    if cmem_args is None:
        return text
    if not isinstance(cmem_args, Mapping):
        raise TypeError(f"cmem_args is {shown(cmem_args)}: it must be a dict of names and NumPy's arrays")
    for name, value in cmem_args.items():
        what = f"cmem_args[{name!r}]"
        array = numpy.asarray(value)
        if str(array.dtype) not in ("float32", "float64", "int32", "uint32"):
            raise UnsupportedError(f"{what} has elements of {array.dtype}: they must be of float32, float64, int32 or "
                                   "uint32")
        if array.nbytes > MOST_BYTES:
            raise ValueError(f"{what} has {array.nbytes} bytes: constant memory has {MOST_BYTES}")
        pattern = rf"\b__constant__\b[^;={{}}()]*\b{re.escape(str(name))}\b(?P<extents>[^;={{}}]*);"
        found = re.search(pattern, c_text.without_comments(text))
        if found is None:
            raise UnsupportedError(f"{what}: kernel_source has no declaration '__constant__ float {name}[...];'")
        values = [c_text.literal(each, what) for each in array.ravel().tolist()]
        initial = "{" + ", ".join(values) + "}" if "[" in found.group("extents") else values[0]
        text = text[:found.end() - 1] + " = " + initial + text[found.end() - 1:]
    return text
