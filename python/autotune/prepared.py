"""The operands that Library.prepare() prepares."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from . import _c_api

ArrayT = TypeVar("ArrayT")


class Prepared(Generic[ArrayT]):
    """A matrix that Library.prepare() has prepared, which takes the array's place as a or b of products.

    It holds a reference to `array`. Its own memory is freed by close(), at the end of a `with` block, or with the
    object. The work that uses it must have ended by then.
    """

    def __init__(self, array: ArrayT, handle: _c_api.Handle) -> None:
        self.array = array
        self._handle: _c_api.Handle | None = handle

    def close(self) -> None:
        """Frees its memory. It must not run while another thread multiplies with the object."""
        if self._handle is not None:
            self._handle.free()
            self._handle = None

    def __enter__(self) -> Prepared[ArrayT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _handle_as(self, name: str) -> _c_api.Handle:
        if self._handle is None or not self._handle.free.alive:  # a copy of the object may have closed it
            raise ValueError(f"{name} was closed")
        return self._handle


def array_of(operand: Any) -> Any:
    """The array of an operand, which may be prepared."""
    return operand.array if isinstance(operand, Prepared) else operand


def handles_of(a: object, b: object) -> list[_c_api.Handle | None]:
    """What was prepared of a and of b. Raises ValueError where it was closed."""
    return [x._handle_as(name) if isinstance(x, Prepared) else None for x, name in ((a, "a"), (b, "b"))]
