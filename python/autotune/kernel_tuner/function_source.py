"""The syntax tree of a Python function, of which the program's expressions are made."""

from __future__ import annotations

import ast
import inspect
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, List, Union

from ..errors import UnsupportedError

Tree = Union[ast.Lambda, ast.FunctionDef]


def tree_of(function: Callable[..., Any], what: str) -> Tree:
    """The tree of a function or a lambda, found by its line in its file. `what` is for messages."""
    advice = f"{what} is a function that cannot be read, since %s: write it as a text, e.g. \"block_size_x >= 32\""
    if not isinstance(function, FunctionType):
        raise UnsupportedError(advice % "it is not written in Python")
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        raise UnsupportedError(advice % "its source is not there") from None
    line = function.__code__.co_firstlineno
    found: List[Tree] = [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))
                         and line in (node.lineno, _first_line(node))]
    is_lambda = function.__name__ == "<lambda>"
    found = [node for node in found if isinstance(node, ast.Lambda) == is_lambda]
    if len(found) > 1:
        found = [node for node in found if _is_code_of(node, function.__code__)]
    if not found or len({ast.dump(node) for node in found}) > 1:
        raise UnsupportedError(advice % "other functions stand on its line")
    return found[0]


def _first_line(node: Tree) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno] + [each.lineno for each in decorators])


def _is_code_of(node: Tree, code: CodeType) -> bool:
    """Whether a function has this code; names of an enclosing function may be found in another way."""
    if not isinstance(node, ast.Lambda):
        return node.name == code.co_name
    whole = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval")
    own = next(each for each in whole.co_consts if isinstance(each, CodeType))
    names = set(own.co_names) | set(own.co_freevars)
    return (own.co_consts == code.co_consts and own.co_varnames == code.co_varnames
            and names == set(code.co_names) | set(code.co_freevars)
            and (bool(code.co_freevars) or own.co_code == code.co_code))


def outer_values(function: Callable[..., Any]) -> Dict[str, Any]:
    """What names mean in a function that it does not define."""
    names = inspect.getclosurevars(function)
    return {**names.globals, **names.nonlocals}
