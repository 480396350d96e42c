"""Signals that arrive while the library works and calls back."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any, Callable, TypeVar

T = TypeVar("T")


class Deferred:
    """Within a `with` block, Python's signal handlers run only in run(), and at the block's end.

    Otherwise Python runs them at the entry of a function that C calls, before its `try` begins (since
    3.11), and ctypes prints and drops what they raise: a KeyboardInterrupt would be lost. A handler that
    is still replaced when an exception has ended the block early is called as ever.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        # Each signal is pending once, as with Python's own.
        self._arrived: dict[int, FrameType | None] = {}
        self._deferring = False

    def __enter__(self) -> Deferred:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                try:
                    signal.signal(number, self._note)
                except ValueError:  # only the main thread runs handlers
                    break
        self._deferring = True
        return self

    def __exit__(self, *_: object) -> None:
        self._deferring = False
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
        self._deliver()

    def run(self, function: Callable[[], T]) -> T:
        """Calls a function. Handlers of signals that have arrived run first, those of others meanwhile."""
        try:
            self._deferring = False
            self._deliver()
            return function()
        finally:
            self._deferring = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._deferring:
            self._arrived[number] = frame
        else:
            self._handlers[number](number, frame)

    def _deliver(self) -> None:
        if self._arrived:
            number, frame = self._arrived.popitem()
            try:
                self._handlers[number](number, frame)
            finally:
                self._deliver()
