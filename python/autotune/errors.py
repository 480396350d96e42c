"""The exceptions of the module. A call that is itself wrong raises TypeError or ValueError."""

from __future__ import annotations

STORAGE, NOT_TUNED = 3, 4  # statuses of autotune.h


class Error(RuntimeError):
    """A fault outside of the call: no device or compiler, no memory, a fault of the device.

    `status` is the C API's status, and `cuda_result` the driver's code, or 0 where no call of the driver failed.
    """

    def __init__(self, message: str, status: int, cuda_result: int) -> None:
        super().__init__(message, status, cuda_result)  # all of them, or it could not be unpickled
        self.status = status
        self.cuda_result = cuda_result

    def __str__(self) -> str:
        return str(self.args[0])


class StorageError(Error):
    """A database or a bundle that was named cannot be used."""


class NotTunedError(Error):
    """The problem was not tuned, and a Library with miss="refuse" or a limit of the error was asked."""


class UnsupportedError(ValueError):
    """A script of Kernel Tuner asks for what cannot be had here. The message names the argument and says what can."""


def error_of(message: str, status: int, cuda_result: int) -> Error:
    """The exception for a status of the C API that is neither success nor a wrong call."""
    kind = {STORAGE: StorageError, NOT_TUNED: NotTunedError}.get(status, Error)
    return kind(message, status, cuda_result)
