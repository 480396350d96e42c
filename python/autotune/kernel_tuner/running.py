"""Tunes and runs described kernels with the program, and hands its trials and results back."""

from __future__ import annotations

import inspect
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from ..errors import Error
from . import program
from .description import SIZE, Description, Request, describe
from .results import Result, get_config_string

_NONE_CORRECT = 5  # the program's exit code where no configuration has a time
_ENVIRONMENT = 2  # a status of autotune.h


class Tuned(NamedTuple):
    """The trials as `autotune db export` writes them, and the beginning of `env`."""

    trials: List[Mapping[str, Any]]
    environment: Dict[str, Any]


def tune(description: Description, device: Any, search: Sequence[str], database: str, show_notes: bool) -> Tuned:
    """Tunes, and returns one trial for each configuration.

    Raises RuntimeError for a wrong result, and Error if the kernel compiles in no configuration.
    """
    stored = ["--db", database]
    report = program.run_json(["tune", *description.options, "--size", f"{SIZE}=1", *program.device_option(device),
                               *search, *stored, "--no-shipped", "--progress", "plain", "--json"], show_notes,
                              (0, _NONE_CORRECT))
    exported = program.run_json(["db", "export", *description.options, *stored, "--format", "json"])
    label = report["device"]["label"]
    # The last trial of a configuration counts: a cache may have one of another driver.
    last = {str(trial["configuration"]): trial for trial in exported["trials"]
            if trial["template"] == description.key and trial["device"] == label}
    trials = list(last.values())
    wrong = next((trial for trial in trials if trial["status"] == "wrong_result"), None)
    if wrong is not None:
        # The answer may be what was wrong, so that a cache must not keep the verdict.
        program.run(["db", "rm", *description.options, "--template", description.key, *stored])
        configuration = get_config_string(description.configuration(wrong["configuration"]))
        raise RuntimeError(f"Kernel result verification failed for: {configuration}: {wrong['detail']}")
    if trials and all(trial["status"] == "compile_failed" for trial in trials):
        raise Error(f"no configuration compiles: {trials[0]['detail']}", _ENVIRONMENT, 0)
    environment = {"device_name": label, "compute_capability": report["device"]["architecture"]}
    if trials:
        environment.update(trials[-1]["environment"])
    return Tuned(trials, environment)


def results_of_one(description: Description, device: Any, configuration: Mapping[str, Any]) -> List[Any]:
    """The arguments as one launch leaves them; the description has to keep results."""
    import numpy
    own = ",".join(f"{name}={code}" for name, code in description.own_configuration(configuration).items())
    arguments = ["run", *description.options, "--size", f"{SIZE}=1", *program.device_option(device), "--no-shipped",
                 "--progress", "none", "--json"]
    report = program.run_json([*arguments, *(["--config", own] if own else [])], allowed=(0, _NONE_CORRECT))
    trial = report["results"][0]
    if trial["status"] != "ok":
        raise RuntimeError(f"the kernel fails for {get_config_string(configuration)}: {trial.get('detail', '')}")
    results = list(description.given)
    for each in description.arguments.buffers:
        if each.argument.is_const:
            results[each.position] = numpy.array(each.array)
            continue
        written = numpy.load(description.result_file(each.argument.name))
        like = numpy.asarray(results[each.position])
        results[each.position] = written.view(like.dtype).reshape(like.shape)
    return results


def check_by(verify: Any, answer: Any, atol: Any, request: Request, device: Any, results: Sequence[Result]) -> None:
    """Runs each configuration once more and has the script's function judge what it leaves."""
    import numpy
    takes_atol = "atol" in inspect.signature(verify).parameters
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        description = describe(request._replace(keep_results=True), folder)
        for result in results:
            if "__error__" in result:
                continue
            configuration = {name: result[name] for name in description.parameters}
            found = results_of_one(description, device, configuration)
            found = [each if isinstance(each, numpy.ndarray) and (answer is None or answer[place] is not None) else None
                     for place, each in enumerate(found)]
            if not numpy.all(verify(answer, found, atol=atol) if takes_atol else verify(answer, found)):
                raise RuntimeError(f"Kernel result verification failed for: {get_config_string(configuration)}")
