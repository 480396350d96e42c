"""Signals that arrive while the library works and calls back."""

import signal


class Deferred:
    """Within a `with` block, Python's signal handlers run only in run(), and at the block's end.

    Otherwise Python runs them at the entry of a function that C calls, before its `try` begins (since
    3.11), and ctypes prints and drops what they raise: a KeyboardInterrupt would be lost. A handler that
    is still replaced when an exception has ended the block early is called as ever.
    """

    def __init__(self):
        self._handlers = {}
        self._arrived = {}  # frames by signals, of which each is pending once, as with Python's own
        self._deferring = False

    def __enter__(self):
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

    def __exit__(self, *_):
        self._deferring = False
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
        self._deliver()

    def run(self, function):
        """Calls a function. Handlers of signals that have arrived run first, those of others meanwhile."""
        try:
            self._deferring = False
            self._deliver()
            return function()
        finally:
            self._deferring = True

    def _note(self, number, frame):
        if self._deferring:
            self._arrived[number] = frame
        else:
            self._handlers[number](number, frame)

    def _deliver(self):
        if self._arrived:
            number, frame = self._arrived.popitem()
            try:
                self._handlers[number](number, frame)
            finally:
                self._deliver()
