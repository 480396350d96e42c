"""The declaration of a kernel in a text of CUDA C++: where it begins, its arguments and its template's parameters."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

from ..errors import UnsupportedError
from . import c_text

_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "signed"}
# The types of buffers that the program knows, as NumPy's names, and how many elements a vector has.
_BASES = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16", "int": "int32",
          "uint": "uint32", "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16",
          "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "size_t": "uint64",
          "ptrdiff_t": "int64", **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u")
                                   for bits in (8, 16, 32, 64)}}
_WIDTHS = {"float": (1, 2, 3, 4), "double": (2, 3, 4), "int": (2, 4), "uint": (2, 4), "char": (2, 4),
           "uchar": (2, 4), "short": (2, 4), "ushort": (2, 4), "longlong": (2,), "ulonglong": (2,)}
_VECTORS = {f"{base}{width}": (_BASES[base], width) for base, widths in _WIDTHS.items() for width in widths}


class Argument(NamedTuple):
    """An argument of a kernel. `words` are those of its type, without qualifiers."""

    name: str
    words: List[str]
    is_pointer: bool
    is_const: bool


class Declaration(NamedTuple):
    """`begin` is the place of `__global__` or of the template before it."""

    begin: int
    template_parameters: List[str]
    arguments: List[Argument]


class ElementType(NamedTuple):
    """What a pointer points to: NumPy's name of an element, and how many a vector has."""

    dtype: str
    width: int


def element_type(words: List[str]) -> Optional[ElementType]:
    """The elements of a buffer whose type has these words; None where the program does not know the type."""
    bare = {word for word in words if word not in ("unsigned", "int")} or {"int"}
    if len(bare) != 1 or not words:
        return None
    name = ("u" if "unsigned" in words else "") + bare.pop()
    if name in _BASES:
        return ElementType(_BASES[name], 1)
    if name in ("half2", "__half2"):
        return ElementType("float16", 2)
    return ElementType(*_VECTORS[name]) if name in _VECTORS else None


def declaration_of(source: str, name: str) -> Declaration:
    """The definition of a kernel. Raises UnsupportedError where the text has none, or one that cannot be read."""
    code = c_text.without_comments(source)
    # Words and brackets between __global__ and the name, such as `void` and `__launch_bounds__(...)`.
    pattern = rf"__global__(?P<between>[^;{{}}]*?)\b{re.escape(name)}\s*\("
    for found in re.finditer(pattern, code):
        end = _closing(code, found.end() - 1)
        if code[end + 1:].lstrip().startswith("{"):  # else a declaration without a body
            begin, template = _template_before(code, found.start())
            words = [_argument(text, name) for text in _parts(code[found.end():end])]
            return Declaration(begin, template, words)
    raise UnsupportedError(f"kernel_source has no kernel '__global__ void {name}(...) {{': kernel_name must be that of "
                           "a CUDA kernel in the text")


def _closing(code: str, place: int) -> int:
    """The place of the bracket that closes the one at this place."""
    pairs = {"(": ")", "<": ">"}
    opening, closing = code[place], pairs[code[place]]
    depth = 0
    for i in range(place, len(code)):
        depth += (code[i] == opening) - (code[i] == closing)
        if depth == 0:
            return i
    raise UnsupportedError("kernel_source has a kernel whose brackets do not close")


def _parts(text: str) -> List[str]:
    """What commas separate outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    parts.append(text[begin:])
    return [part.strip() for part in parts if part.strip()]


def _template_before(code: str, place: int) -> "tuple[int, List[str]]":
    """Where the declaration begins, and the names of its template's parameters."""
    before = re.search(r"template\s*<(?P<list>[^;{}]*)>\s*(?:(?:extern|static|inline|void)\s*)*\Z", code[:place])
    if before is None:
        words = re.search(r"(?:\b(?:static|inline|extern\s*\"\s*C\s*\"|extern\s*\"[^\"]*\")\s*)*\Z", code[:place])
        return (words.start() if words else place), []
    names = [part.split("=")[0].split()[-1] for part in _parts(before.group("list"))]
    return before.start(), names


def _argument(text: str, kernel: str) -> Argument:
    is_array = "[" in text
    text = text.split("[")[0].split("=")[0]
    tokens = re.findall(r"[A-Za-z_][A-Za-z_0-9]*|\S", text)
    if len(tokens) < 2 or not c_text.is_identifier(tokens[-1]):
        raise UnsupportedError(f"kernel_source: the argument '{text.strip()}' of {kernel} must have a type and a name")
    stars = [place for place, token in enumerate(tokens) if token == "*"]
    before = tokens[:stars[0]] if stars else tokens[:-1]
    words = [token for token in tokens[:-1] if c_text.is_identifier(token) and token not in _QUALIFIERS]
    return Argument(tokens[-1], words, bool(stars) or is_array, "const" in before)
