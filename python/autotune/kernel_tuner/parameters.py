"""Tunable parameters: the values that a script names, and the whole numbers that stand for them in the program."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Sequence

from ..errors import UnsupportedError
from . import c_text
from .messages import shown

FORBIDDEN = ("grid_size_x", "grid_size_y", "grid_size_z", "time")


class Parameter:
    """A parameter of a kernel.

    `values` are as the script gave them, without repetitions. `codes` are the program's, one for each: the values
    themselves where all are whole numbers, else their places. `name` is the script's, `own_name` the program's.
    """

    def __init__(self, name: str, values: Iterable[Any], is_macro: bool) -> None:
        if not c_text.is_identifier(name):
            raise UnsupportedError(f"tune_params has {name!r}: a parameter must have a name of C, e.g. tile_size")
        if name in FORBIDDEN:
            raise ValueError(f"tune_params has {name!r}: this name has a meaning already, use another")
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"tune_params[{name!r}] is {shown(values)}: it must be a list of values")
        self.name = name
        self.values: List[Any] = []
        for value in values:
            if value not in self.values:
                self.values.append(value.item() if hasattr(value, "item") else value)
        if not self.values:
            raise ValueError(f"tune_params[{name!r}] is empty: it must have at least one value")
        for value in self.values:
            if not isinstance(value, (int, float, str)):
                raise UnsupportedError(f"tune_params[{name!r}] has {shown(value)}: values are numbers and texts")
        self.is_whole = all(isinstance(value, int) for value in self.values)
        self.codes = [int(value) for value in self.values] if self.is_whole else list(range(len(self.values)))
        # A loop's factor becomes a constant of C++, and a text has its place instead: both have names of their own.
        self.is_factor = is_macro and self.is_whole and "loop_unroll_factor" in name
        self.own_name = name if is_macro and self.is_whole and not self.is_factor else "tune_" + name
        self.macro = self.own_name  # whose text is that of the value
        if not self.is_whole:
            self.macro = name if is_macro else "text_" + name

    def value(self, code: int) -> Any:
        """The script's value that a code of the program stands for."""
        return self.values[self.codes.index(code)]

    def code(self, value: Any) -> int:
        """The program's code of a value of the script."""
        return self.codes[self.values.index(value)]

    def choice(self, texts: Sequence[str]) -> str:
        """An expression of the program that has one text for each value."""
        result = texts[-1]
        for code, text in zip(self.codes[-2::-1], texts[-2::-1]):
            result = f"{self.own_name} == {code} ? {text} : ({result})"
        return f"({result})"

    @property
    def expression(self) -> str:
        """The value, as an expression of the program."""
        if self.is_whole:
            return self.own_name
        return self.choice([c_text.literal(value, f"tune_params[{self.name!r}]") for value in self.values])

    @property
    def text_expression(self) -> str:
        """The text that the code sees, as an expression of the program."""
        return self.choice([c_text.quoted(str(value), f"tune_params[{self.name!r}]") for value in self.values])

    @property
    def may_be_negative(self) -> bool:
        return any(not isinstance(value, str) and value < 0 for value in self.values)


def parameters_of(tune_params: Any, has_defines: bool) -> Dict[str, Parameter]:
    """The parameters of `tune_params`. has_defines: the script says which macros there are."""
    if not isinstance(tune_params, Mapping):
        raise TypeError(f"tune_params is {shown(tune_params)}: it must be a dict of lists")
    return {name: Parameter(name, values, is_macro=not has_defines) for name, values in tune_params.items()}
