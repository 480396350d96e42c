"""What the code of a kernel sees of its parameters: macros, constants and the arguments of its template."""

from __future__ import annotations

import re
from typing import Any, List, Mapping, NamedTuple

from ..errors import UnsupportedError
from . import c_text
from .launch import BLOCK_SIZES, Launch
from .messages import shown
from .parameters import Parameter
from .translation import Translator


class Macros(NamedTuple):
    """`lines` stand in front of the code, `directives` among those of the kernel, `text` is the code."""

    lines: List[str]
    directives: List[str]
    text: str


def macros_of(parameters: Mapping[str, Parameter], launch: Launch, text: str, defines: Any) -> Macros:
    """Those of Kernel Tuner where `defines` is None, else those that it has."""
    result = Macros([], [f"define({each.macro} = {each.text_expression})" for each in parameters.values()
                         if not each.is_whole], text)
    if defines is not None:
        return _given(parameters, defines, result)
    result.lines.append("#define kernel_tuner 1")
    for axis, extent in zip("xyz", launch.grid):
        if c_text.mentions(text, "grid_size_" + axis):
            result.directives.append(f"define(grid_size_{axis} = int({extent}))")
    for name, size in zip(launch.block_names, BLOCK_SIZES):
        if name not in parameters and c_text.mentions(text, name):
            result.lines.append(f"#define {name} {size}")
    for each in parameters.values():
        if each.is_factor:
            result.lines.append(f"constexpr int {each.name} = {each.own_name};")
            text = _with_optional_unrolling(text, each)
    return result._replace(text=text)


def _given(parameters: Mapping[str, Parameter], defines: Any, result: Macros) -> Macros:
    if not isinstance(defines, Mapping):
        raise TypeError(f"defines is {shown(defines)}: it must be a dict of names and texts")
    own = {each.name: each.macro for each in parameters.values()}
    for name, value in defines.items():
        if not c_text.is_identifier(name):
            raise ValueError(f"defines has {name!r}: the name of a macro must be one of C")
        if callable(value):
            expression = Translator(parameters, f"defines[{name!r}]").of_function(value)[0]
            result.directives.append(f"define({name} = {expression})")
            continue
        replaced = c_text.with_replaced_words(str(value), own) if isinstance(value, str) else str(value)
        result.lines.append(f"#define {name} " + replaced.replace("\n", "\\\n"))
    return result


def _with_optional_unrolling(text: str, factor: Parameter) -> str:
    """A factor of 0 leaves the pragma out, and with it the choice to the compiler."""
    pattern = rf"^([ \t]*#[ \t]*pragma[ \t]+unroll[ \t(]+{re.escape(factor.name)}\b[^\n]*)$"
    return re.sub(pattern, rf"#if {factor.own_name}\n\1\n#endif", text, flags=re.MULTILINE)


def template_directives(names: List[str], given: List[str], parameters: Mapping[str, Parameter]) -> List[str]:
    """The template's arguments, which may be parameters."""
    if len(given) > len(names):
        raise UnsupportedError(f"kernel_name has {len(given)} template arguments, but the kernel's template has "
                               f"{len(names)}")
    own = {each.name: each.macro for each in parameters.values()}
    return [f"typename({name} = {c_text.with_replaced_words(value, own)})" for name, value in zip(names, given)]
