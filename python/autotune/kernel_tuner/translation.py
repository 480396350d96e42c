"""Expressions and functions of Python as expressions of the program (docs/own-kernels.md)."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Sequence

from ..errors import UnsupportedError
from . import c_text
from .function_source import outer_values, tree_of
from .messages import shown
from .parameters import Parameter

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Pow: "**"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
# How many arguments each takes; the program's names are the same. round() differs from Python's.
_FUNCTIONS = {"abs": (1, 1), "ceil": (1, 1), "floor": (1, 1), "float": (1, 1), "int": (1, 1), "log2": (1, 1),
              "min": (2, 100), "max": (2, 100)}
_OTHER_NAMES = {"minimum": "min", "maximum": "max", "absolute": "abs", "fabs": "abs", "int32": "int", "int64": "int"}
_MODULES = ("math", "np", "numpy")


class Translator:
    """Writes trees of Python as expressions over a kernel's parameters. `what` names the argument in messages."""

    def __init__(self, parameters: Mapping[str, Parameter], what: str) -> None:
        self._parameters = parameters
        self._what = what
        self._names: Dict[str, ast.expr] = {}  # local names of a function, and what they stand for
        self._outer: Dict[str, Any] = {}
        self._dict_names: List[str] = []

    def of_text(self, text: str) -> str:
        """An expression that a script gives as a text of Python."""
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError):
            raise UnsupportedError(f"{self._what} has {shown(text)}, which is no expression of Python") from None
        return self._value(tree.body)

    def of_function(self, function: Callable[..., Any]) -> List[str]:
        """What a function returns: one expression, or those of a tuple. It gets a dict, or parameters by name."""
        tree = tree_of(function, self._what)
        if tree.args.vararg or tree.args.kwonlyargs:
            self._refuse("a function with other arguments than a dict of the parameters")
        names = [each.arg for each in tree.args.args]
        self._outer = outer_values(function)
        self._dict_names = [] if all(name in self._parameters for name in names) else names[:1]
        for name in names[len(self._dict_names):]:
            if name not in self._parameters:
                self._refuse(f"the argument {name}, which is no parameter")
        result = tree.body if isinstance(tree, ast.Lambda) else self._result(tree.body)
        if isinstance(result, (ast.Tuple, ast.List)):
            return [self._value(each) for each in result.elts]
        return [self._value(result)]

    def _refuse(self, thing: str) -> NoReturn:
        raise UnsupportedError(f"{self._what} uses {thing}, which the program cannot compute: use numbers, the "
                               "parameters, + - * / // % **, comparisons, and, or, not, in, min, max, abs, ceil, "
                               "floor, int, float and log2")

    def _result(self, body: Sequence[ast.stmt]) -> ast.expr:
        """The expression that statements return. Names are put into what follows, and branches become choices."""
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._known(statement.value)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                value = self._known(statement.value)
                for target in statement.targets:
                    if not isinstance(target, ast.Name):
                        self._refuse("an assignment to something else than a name")
                    self._names[target.id] = value
            elif isinstance(statement, ast.If):
                return self._branch(statement, body[place + 1:])
            elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self._refuse(f"a statement '{type(statement).__name__}'")
        self._refuse("a function that does not return a value in each case")

    def _branch(self, statement: ast.If, rest: Sequence[ast.stmt]) -> ast.expr:
        test = self._known(statement.test)
        names = dict(self._names)
        then = self._result([*statement.body, *rest])
        self._names = dict(names)
        otherwise = self._result([*statement.orelse, *rest])
        self._names = names
        return ast.IfExp(test=test, body=then, orelse=otherwise)

    def _known(self, tree: ast.expr) -> ast.expr:
        """The tree with what local names stand for at this place."""
        if not self._names:
            return tree
        known: ast.expr = _Substitution(dict(self._names)).visit(tree)
        return known

    def _value(self, node: ast.expr) -> str:
        method = getattr(self, "_" + type(node).__name__, None)
        if method is None:
            self._refuse(f"'{type(node).__name__}'")
        return str(method(node))

    def _truth(self, node: ast.expr) -> str:
        """A condition. Python's `and` and `or` return operands, the program's return whether they hold."""
        if not isinstance(node, ast.BoolOp):
            return self._value(node)
        word = " and " if isinstance(node.op, ast.And) else " or "
        return "(" + word.join(self._truth(each) for each in node.values) + ")"

    def _BoolOp(self, node: ast.BoolOp) -> str:
        if all(isinstance(each, (ast.Compare, ast.BoolOp, ast.UnaryOp)) for each in node.values):
            return self._truth(node)
        result = self._value(node.values[-1])
        for each in reversed(node.values[:-1]):
            value = self._value(each)
            first, second = (result, value) if isinstance(node.op, ast.And) else (value, result)
            result = f"({value} ? {first} : {second})"
        return result

    def _IfExp(self, node: ast.IfExp) -> str:
        return f"({self._truth(node.test)} ? {self._value(node.body)} : {self._value(node.orelse)})"

    def _UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"(not {self._truth(node.operand)})"
        if isinstance(node.op, ast.Invert):
            self._refuse("'~'")
        return f"({'-' if isinstance(node.op, ast.USub) else '+'}{self._value(node.operand)})"

    def _BinOp(self, node: ast.BinOp) -> str:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Div):
            return f"(float({left}) / {right})"
        if isinstance(node.op, ast.LShift):
            return f"({left} * 2 ** {right})"
        if isinstance(node.op, ast.RShift):
            return f"({left} // 2 ** {right})"
        if isinstance(node.op, ast.Mod):
            # The program's remainder has the sign of the first number, Python's that of the second.
            return f"(({left} % {right} + {right}) % {right})" if self._may_be_negative(node) else f"({left} % {right})"
        if type(node.op) not in _OPERATORS:
            self._refuse(f"the operator '{type(node.op).__name__}'")
        return f"({left} {_OPERATORS[type(node.op)]} {right})"

    def _may_be_negative(self, node: ast.expr) -> bool:
        return (any(isinstance(each, (ast.Sub, ast.USub)) for each in ast.walk(node))
                or any(each.may_be_negative for each in self._parameters.values()))

    def _Compare(self, node: ast.Compare) -> str:
        result = self._value(node.left)
        for operator, right in zip(node.ops, node.comparators):
            if isinstance(operator, (ast.In, ast.NotIn)):
                if len(node.ops) > 1:
                    self._refuse("'in' in a chain of comparisons")
                word = "in" if isinstance(operator, ast.In) else "not in"
                return f"({result} {word} ({', '.join(self._items(right))}))"
            if type(operator) not in _COMPARISONS:
                self._refuse("'is'")
            result += f" {_COMPARISONS[type(operator)]} {self._value(right)}"
        return f"({result})"

    def _items(self, node: ast.expr) -> List[str]:
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return [self._value(each) for each in node.elts]
        values = self._outer.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(values, (tuple, list, set, frozenset, range)):
            return [c_text.literal(each, self._what) for each in values]
        self._refuse("'in' with something else than a list")

    def _Call(self, node: ast.Call) -> str:
        name = node.func
        if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id in _MODULES:
            text = _OTHER_NAMES.get(name.attr, name.attr)
        elif isinstance(name, ast.Name):
            text = name.id
        else:
            self._refuse("a call of something else than a function")
        arguments = node.args
        if text in ("min", "max") and len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
            arguments = arguments[0].elts
        if text == "pow" and len(arguments) == 2:
            return f"({self._value(arguments[0])} ** {self._value(arguments[1])})"
        fewest, most = _FUNCTIONS.get(text, (0, 0))
        if node.keywords or not fewest <= len(arguments) <= most or most == 0:
            self._refuse(f"the function {text}")
        return f"{text}({', '.join(self._value(each) for each in arguments)})"

    def _Subscript(self, node: ast.Subscript) -> str:
        key: Any = node.slice
        if type(key).__name__ == "Index":  # Python 3.8
            key = key.value
        is_dict = isinstance(node.value, ast.Name) and node.value.id in self._dict_names
        if not is_dict or not isinstance(key, ast.Constant):
            self._refuse("'[]' of something else than its dict of parameters")
        return self._parameter(str(key.value))

    def _parameter(self, name: str) -> str:
        if name not in self._parameters:
            known = ", ".join(self._parameters)
            raise UnsupportedError(f"{self._what} uses {shown(name)}, which is no parameter: use one of {known}")
        return self._parameters[name].expression

    def _Name(self, node: ast.Name) -> str:
        if node.id not in self._outer or (node.id in self._parameters and not self._dict_names):
            return self._parameter(node.id)
        value = self._outer[node.id]
        if not isinstance(value, (bool, int, float, str)) and not hasattr(value, "dtype"):
            self._refuse(f"{node.id}, which is {shown(value)}")
        return c_text.literal(value.item() if hasattr(value, "dtype") else value, self._what)

    def _Constant(self, node: ast.Constant) -> str:
        if not isinstance(node.value, (bool, int, float, str)):
            self._refuse(repr(node.value))
        return c_text.literal(node.value, self._what)


class _Substitution(ast.NodeTransformer):
    """Puts trees in the places of names."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._names.get(node.id, node)
