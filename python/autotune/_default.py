"""The Library that the module's functions use, whose settings may change."""

from __future__ import annotations

from . import _c_api, problem
from .library import Library, Path, absolute, found_program


class Default(Library):
    """A Library whose bundle and background tuning are chosen by functions, for the calls that follow."""

    def use_bundle(self, path: Path | None) -> None:
        """From now on products on GPUs run with the kernels of a file of `autotune export --bundle`.

        No compiler, database or cubin store is looked for then, and tune() raises ValueError. path: of the
        file, which the next call for a GPU reads; None: without one again. Raises TypeError for another path.
        """
        self._settings = self._settings._replace(bundle=absolute(path))

    def use_background(self, program: str | None = None, *, share: float = 0.05, seconds: float = 10) -> None:
        """From now on what is multiplied and was not tuned is tuned in the background.

        It is tuned in processes of `program` (None: the `autotune` that the shell would start), for at most
        `share` of any second of the device's time and `seconds` of it for each size; later products run
        with the kernels that win. Ends with the process or with stop_background(). Raises TypeError or
        ValueError for arguments that do not fit, and where there is no program.
        """
        self._settings = self._settings._replace(
            program=absolute(found_program(program)), miss=_c_api.MISSES.index("background"),
            share=problem.amount(share, "share", most=1),
            miss_seconds=problem.amount(seconds, "seconds", most=problem.LONGEST))

    def stop_background(self) -> None:
        """Ends tuning in the background, at once. Products go on with the kernels that were found."""
        self._settings = _c_api.Settings(bundle=self._settings.bundle)
        super().stop_background()

    def __reduce__(self) -> str:  # so that its functions can be handed to other processes
        return "DEFAULT"


DEFAULT = Default()
