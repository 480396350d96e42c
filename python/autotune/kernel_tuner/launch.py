"""The block, the grid and the shared memory of a launch, as expressions of the program."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Sequence

from ..errors import UnsupportedError
from ..problem import whole
from .messages import shown
from .parameters import Parameter
from .translation import Translator

BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
BLOCK_SIZES = (256, 1, 1)  # where no parameter has the name


class Launch(NamedTuple):
    """Expressions for x, y and z."""

    block_names: List[str]
    block: List[str]
    grid: List[str]


def launch_of(parameters: Mapping[str, Parameter], block_size_names: Any, problem_size: Any,
              divisors: Sequence[Any]) -> Launch:
    """Of the arguments of the same names; `divisors` are grid_div_x, grid_div_y and grid_div_z."""
    names = block_names_of(block_size_names, parameters)
    block = [parameters[name].expression if name in parameters else str(size)
             for name, size in zip(names, BLOCK_SIZES)]
    sizes = _problem_size(parameters, problem_size)
    grid = []
    for axis, size, name, divisor in zip("xyz", sizes, names, divisors):
        by = _divisor(Translator(parameters, "grid_div_" + axis), divisor,
                      parameters[name].expression if name in parameters else "1")
        grid.append(size if by == "1" else f"ceil(float({size}) / ({by}))")
    return Launch(names, block, grid)


def block_names_of(names: Any, parameters: Mapping[str, Parameter]) -> List[str]:
    """The names of a block's extents; parameters may have Kernel Tuner's in capitals."""
    if names is None:
        return [next((each for each in parameters if each.lower() == name), name) for name in BLOCK_NAMES]
    if not isinstance(names, (list, tuple)) or len(names) > 3 or not all(isinstance(each, str) for each in names):
        raise TypeError(f"block_size_names is {shown(names)}: it must be a list of at most three names")
    return [*names, *BLOCK_NAMES[len(names):]]


def _problem_size(parameters: Mapping[str, Parameter], given: Any) -> List[str]:
    translator = Translator(parameters, "problem_size")
    if callable(given):
        sizes = translator.of_function(given)
    else:
        if isinstance(given, str) or whole(given) is not None:
            given = (given,)
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"problem_size is {shown(given)}: it must be a number, a text, a function or a tuple")
        sizes = []
        for each in given:
            number = whole(each)
            if not isinstance(each, str) and number is None:
                raise TypeError(f"problem_size has {shown(each)}: it must have whole numbers and texts")
            sizes.append(f"int({translator.of_text(each)})" if isinstance(each, str) else str(number))
    if not 1 <= len(sizes) <= 3:
        raise UnsupportedError(f"problem_size has {len(sizes)} extents: it must have one to three")
    return sizes + ["1"] * (3 - len(sizes))


def _divisor(translator: Translator, given: Any, default: str) -> str:
    """The product of a list of divisors. A text counts as a whole number, a function as it is."""
    if given is None:
        return default
    number = whole(given)
    if number is not None:
        return str(number)
    if isinstance(given, str):
        return f"int({translator.of_text(given)})"
    if callable(given):
        return translator.of_function(given)[0]
    if isinstance(given, (list, tuple)):
        factors = [_divisor(translator, each, "1") for each in given]
        return " * ".join(f"({each})" if len(factors) > 1 else each for each in factors) or "1"
    raise UnsupportedError(f"a divisor of the grid is {shown(given)}: use a list of texts, numbers and functions")


def shared_memory_of(parameters: Mapping[str, Parameter], smem_args: Any) -> str:
    """The bytes of dynamic shared memory; empty: none."""
    if not smem_args:
        return ""
    if set(smem_args) != {"size"}:
        raise UnsupportedError(f"smem_args has {', '.join(map(repr, smem_args))}: it may have 'size' alone")
    size = smem_args["size"]
    translator = Translator(parameters, "smem_args['size']")
    if callable(size):
        return translator.of_function(size)[0]
    return f"int({translator.of_text(size)})" if isinstance(size, str) else str(int(size))
