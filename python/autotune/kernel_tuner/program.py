"""The program `autotune`, which compiles, checks and times what a script asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def run(arguments: Sequence[str], verbose: bool = False, allowed: Sequence[int] = (0,)) -> str:
    """Runs a command and returns what it prints. Its notes go to standard error if `verbose`.

    Raises UnsupportedError for what the program refuses, Error for a fault of the machine and KeyboardInterrupt.
    """
    try:
        done = subprocess.run([path_of_program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, text=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Error(f"the program cannot be started: {error}", _ENVIRONMENT, 0) from None
    if verbose and done.stderr:
        sys.stderr.write(done.stderr)
    if done.returncode in allowed:
        return done.stdout
    if done.returncode == 130:
        raise KeyboardInterrupt
    lines = [line for line in done.stderr.splitlines() if line.startswith("autotune: ")]
    message = lines[-1][len("autotune: "):] if lines else f"the program ended with {done.returncode}: {done.stderr}"
    if done.returncode == 2:
        raise UnsupportedError(message)
    raise Error(message, _ENVIRONMENT if done.returncode == 3 else _INTERNAL, 0)


def run_json(arguments: Sequence[str], verbose: bool = False, allowed: Sequence[int] = (0,)) -> Any:
    """Runs a command that prints one JSON document."""
    return json.loads(run(arguments, verbose, allowed))
