"""The configurations that restrictions allow."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ..errors import UnsupportedError
from .launch import BLOCK_SIZES
from .messages import shown
from .parameters import Parameter
from .translation import Translator


def restrictions_of(given: Any) -> List[Any]:
    """The single restrictions: texts and functions."""
    if given is None:
        return []
    if isinstance(given, str) or callable(given):
        given = [given]
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"restrictions is {shown(given)}: it must be a list of texts and functions, or one of them")
    for each in given:
        if not isinstance(each, str) and (not callable(each) or not hasattr(each, "__code__")):
            raise UnsupportedError(f"restrictions has {shown(each)}: use texts, e.g. 'block_size_x >= 32', and "
                                   "functions")
    return list(given)


def restriction_texts(parameters: Mapping[str, Parameter], restrictions: Sequence[Any]) -> List[str]:
    """The restrictions as expressions of the program."""
    translator = Translator(parameters, "restrictions")
    return [translator.of_text(each) if isinstance(each, str) else
            Translator(parameters, "restrictions").of_function(each)[0] for each in restrictions]


def default_configuration(parameters: Mapping[str, Parameter], restrictions: Sequence[Any],
                          block_names: Sequence[str]) -> Dict[str, Any]:
    """The first configuration that is allowed, and whose block a device can have."""
    holds = [_test(each, parameters) for each in restrictions]
    for values in itertools.product(*(each.values for each in parameters.values())):
        configuration = dict(zip(parameters, values))
        if _is_block(configuration, block_names) and all(test(configuration) for test in holds):
            return configuration
    raise ValueError("restrictions leave no configuration of tune_params whose block has 1 to 1024 threads")


def _is_block(configuration: Mapping[str, Any], names: Sequence[str]) -> bool:
    block = [int(configuration.get(name, size)) for name, size in zip(names, BLOCK_SIZES)]
    return min(block) > 0 and block[0] * block[1] * block[2] <= 1024 and block[2] <= 64


def _test(restriction: Any, parameters: Mapping[str, Parameter]) -> Callable[[Dict[str, Any]], Any]:
    if isinstance(restriction, str):
        code = compile(restriction.strip(), "restrictions", "eval")
        return lambda configuration: eval(code, {"math": math}, configuration)
    names = list(inspect.signature(restriction).parameters)
    if all(name in parameters for name in names):
        return lambda configuration: restriction(*(configuration[name] for name in names))
    return lambda configuration: restriction(configuration)
