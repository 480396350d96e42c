"""Pieces of C's and of the program's texts."""

from __future__ import annotations

import math
import re
from typing import Any, Mapping

from ..errors import UnsupportedError
from ..problem import whole
from .messages import shown

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def is_identifier(name: Any) -> bool:
    return isinstance(name, str) and _WORD.match(name) is not None


def mentions(source: str, name: str) -> bool:
    """Whether a word stands in a text of C, comments included."""
    return re.search(rf"\b{re.escape(name)}\b", source) is not None


def without_comments(source: str) -> str:
    """The text with blanks in place of comments and of what stands in quotes, so that places stay."""
    def blank(found: re.Match[str]) -> str:
        text = found.group()
        if text[0] in "\"'":
            return text[0] + " " * (len(text) - 2) + text[0]
        return re.sub(r"[^\n]", " ", text)
    return _COMMENT_OR_LITERAL.sub(blank, source)


def quoted(text: str, what: str) -> str:
    """A text of the program."""
    if any(c in text for c in "\"\\\n\r"):
        raise UnsupportedError(f"{what} has the text {shown(text)}: it may have no quotes, backslashes and line ends")
    return f'"{text}"'


def literal(value: Any, what: str) -> str:
    """A constant as the program's expressions have it."""
    if isinstance(value, str):
        return quoted(value, what)
    if isinstance(value, bool):
        return "true" if value else "false"
    number = whole(value)
    if number is not None:
        return str(number) if number >= 0 else f"({number})"
    value = float(value)
    if not math.isfinite(value):
        raise UnsupportedError(f"{what} is {value}: it must be a finite number")
    text = repr(value)
    return text if value >= 0 else f"({text})"


def with_replaced_words(text: str, replacements: Mapping[str, str]) -> str:
    """The text with other words in place of those that the mapping has."""
    return re.sub(r"[A-Za-z_0-9]+", lambda found: replacements.get(found.group(), found.group()), text)
