"""The text of a kernel, as `kernel_source` and `kernel_name` give it."""

from __future__ import annotations

import os
import re
from typing import Any, List, NamedTuple

from ..errors import UnsupportedError
from .messages import shown


class Source(NamedTuple):
    """`folder` is where files lie that it includes."""

    text: str
    file_name: str
    folder: str


class KernelName(NamedTuple):
    """The name of a function, with the arguments of its template."""

    name: str
    template_arguments: List[str]


def _is_file_name(text: str) -> bool:
    return len(text) <= 250 and not re.search(r"[(){};\\\n]", text) and re.search(r"\.c", text) is not None


def source_of(kernel_source: Any, lang: Any) -> Source:
    """Reads the text, or the file whose name is given; the first one of a list includes the others."""
    if lang is not None and (not isinstance(lang, str) or lang.upper() not in ("CUDA", "CUPY", "NVCUDA")):
        raise UnsupportedError(f"lang is {shown(lang)}: kernels are of CUDA, leave it out or use 'CUDA'")
    if isinstance(kernel_source, (list, tuple)) and kernel_source:
        kernel_source = kernel_source[0]
    if callable(kernel_source):
        raise UnsupportedError("kernel_source is a function: give the text, and have its parts depend on parameters by "
                               "#if")
    if not isinstance(kernel_source, (str, os.PathLike)):
        raise TypeError(f"kernel_source is {shown(kernel_source)}: it must be a text of CUDA, or the name of a file")
    if isinstance(kernel_source, os.PathLike) or _is_file_name(kernel_source):
        path = os.path.abspath(os.fspath(kernel_source))
        with open(path, encoding="utf-8") as file:
            return Source(file.read(), os.path.basename(path), os.path.dirname(path))
    return Source(kernel_source, "kernel.cu", os.getcwd())


def kernel_name_of(kernel_name: Any) -> KernelName:
    """The parts of NAME or NAME<argument, ...>."""
    found = re.match(r"\s*([A-Za-z_]\w*)\s*(?:<(.*)>)?\s*\Z", kernel_name) if isinstance(kernel_name, str) else None
    if found is None:
        raise UnsupportedError(f"kernel_name is {shown(kernel_name)}: it must be the name of a function, e.g. 'add' or "
                               "'add<float>'")
    arguments = found.group(2)
    return KernelName(found.group(1), [each.strip() for each in arguments.split(",")] if arguments else [])
