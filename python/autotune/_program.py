"""The program `autotune`, which the package brings along."""

from __future__ import annotations

import os
import shutil
import sys
from typing import NoReturn


def own_path() -> str | None:
    """The path of the program in the package, if it is there."""
    # An editable installation has the module's sources in one folder and the program in another.
    package = sys.modules[__package__ or ""]
    paths = (os.path.join(folder, "bin", "autotune") for folder in package.__path__)
    return next((path for path in paths if os.path.exists(path)), None)


def path() -> str | None:
    """The program that AUTOTUNE_PROGRAM names, else that of the package, else the one that the shell would start."""
    return os.environ.get("AUTOTUNE_PROGRAM") or own_path() or shutil.which("autotune")


def main() -> NoReturn:
    """The command `autotune` of an installed package."""
    own = own_path()
    if own is None:
        sys.exit("autotune: the package has no program: install it again")
    os.execv(own, [own, *sys.argv[1:]])
