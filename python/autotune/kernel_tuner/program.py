"""The program `autotune`, which compiles, checks and times what a script asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, List, Sequence

from .. import _program
from ..errors import Error, UnsupportedError
from .messages import shown

_ENVIRONMENT, _INTERNAL = 2, 7  # statuses of autotune.h


def path_of_program() -> str:
    """Raises Error where there is none."""
    found = _program.path()
    if found is None:
        raise Error("there is no program autotune: install the package with it, or have AUTOTUNE_PROGRAM name it",
                    _ENVIRONMENT, 0)
    return found


def device_option(device: Any) -> List[str]:
    """--device for the number of a GPU or "cpu". AUTOTUNE_DEVICE takes its place, so that scripts stay as they are."""
    name = os.environ.get("AUTOTUNE_DEVICE") or str(device)
    if name != "cpu" and not name.isdecimal():
        raise UnsupportedError(f"device is {shown(name)}: it must be the number of a GPU, or 'cpu'")
    return ["--device", name]


def run(arguments: Sequence[str], show_notes: bool = False, allowed: Sequence[int] = (0,)) -> str:
    """Runs a command and returns what it prints. Its notes go to standard error as they come if `show_notes`.

    Raises UnsupportedError for what the program refuses, Error for a fault of the machine and KeyboardInterrupt.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        notes: List[str] = []
        try:
            with subprocess.Popen([path_of_program(), *arguments], stdout=printed, stderr=subprocess.PIPE, text=True,
                                  encoding="utf-8", errors="replace") as process:
                for line in process.stderr or ():
                    notes.append(line.rstrip())
                    if show_notes:
                        print(line, end="", file=sys.stderr)
        except OSError as error:
            raise Error(f"the program cannot be started: {error}", _ENVIRONMENT, 0) from None
        if process.returncode in allowed:
            printed.seek(0)
            return printed.read()
    if process.returncode == 130:
        raise KeyboardInterrupt
    faults = [line for line in notes if line.startswith("autotune: ")]
    message = faults[-1][len("autotune: "):] if faults else f"the program ended with {process.returncode}"
    if process.returncode == 2:
        raise UnsupportedError(message)
    raise Error(message, _ENVIRONMENT if process.returncode == 3 else _INTERNAL, 0)


def run_json(arguments: Sequence[str], show_notes: bool = False, allowed: Sequence[int] = (0,)) -> Any:
    """Runs a command that prints one JSON document."""
    return json.loads(run(arguments, show_notes, allowed))
