"""tune_kernel() and run_kernel(), with Kernel Tuner's arguments."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any, Dict, List, Mapping, Tuple

from ..errors import UnsupportedError
from ..problem import whole
from . import running, strategies
from .description import Description, Request, describe
from .messages import shown
from .results import (Objective, Result, add_metrics, check_metrics, get_config_string, in_order, result_of,
                      total_times)


def tune_kernel(kernel_name: Any, kernel_source: Any, problem_size: Any, arguments: Any, tune_params: Any,
                grid_div_x: Any = None, grid_div_y: Any = None, grid_div_z: Any = None, restrictions: Any = None,
                answer: Any = None, atol: Any = 1e-6, verify: Any = None, verbose: Any = False, lang: Any = None,
                device: Any = 0, platform: Any = 0, smem_args: Any = None, cmem_args: Any = None,
                texmem_args: Any = None, compiler: Any = None, compiler_options: Any = None, defines: Any = None,
                log: Any = None, iterations: Any = 7, block_size_names: Any = None, quiet: Any = False,
                strategy: Any = None, strategy_options: Any = None, cache: Any = None, metrics: Any = None,
                simulation_mode: Any = None, parallel: Any = None, observers: Any = None, objective: Any = None,
                objective_higher_is_better: Any = None, objectives: Any = None, seed: Any = None,
                ) -> Tuple[List[Result], Dict[str, Any]]:
    """Tunes a kernel. Returns a list of dicts, the best by `objective` first, and a dict of the environment.

    A dict of the list has the parameters, `time` in milliseconds, `times`, the metrics, and `__error__` in place of
    times if the configuration failed. device: the number of a GPU, or "cpu"; AUTOTUNE_DEVICE takes its place.
    cache: a database NAME.autotune.db that is continued. A launch is timed as often as its times need, so
    `iterations` counts as a wish. Each result is compared with `answer`, else with nothing. Raises RuntimeError for
    a result that is wrong, UnsupportedError for what cannot be had, TypeError and ValueError for wrong arguments,
    autotune.Error where there is no device or nothing compiles.
    """
    began = time.perf_counter()
    _refuse(texmem_args=(texmem_args, "textures are not supported, hand the array to the kernel"),
            compiler=(compiler, "kernels are compiled by NVRTC"),
            log=(log, "use verbose=True"),
            simulation_mode=(simulation_mode, "`autotune replay` runs strategies over caches"),
            parallel=(parallel, "kernels are compiled in parallel anyway"),
            observers=(observers, "the program measures times alone"),
            objectives=(objectives, "use one objective"),
            platform=(platform, "there is one"))
    if (whole(iterations) or 0) < 1:
        raise ValueError(f"iterations is {shown(iterations)}: it must be a whole number from 1 on")
    goal = Objective(objective, objective_higher_is_better)
    goal.check(metrics)
    check_metrics(metrics)
    request = Request(kernel_name, kernel_source, problem_size, arguments, tune_params,
                      (grid_div_x, grid_div_y, grid_div_z), restrictions, None if verify else answer, atol, lang,
                      smem_args, cmem_args, compiler_options, defines, block_size_names)
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        description = describe(request, folder)
        space = 1
        for each in description.parameters.values():
            space *= len(each.values)
        search = strategies.options_of(strategy, strategy_options, seed, space)
        tuned = running.tune(description, device, search, _database(cache, folder), not quiet)
        results = [_result(description, trial, metrics, bool(verbose)) for trial in tuned.trials]
        if verify:
            running.check_by(verify, answer, atol, request, device, results)
    results = in_order(results, goal)
    env = {**tuned.environment, "iterations": iterations, "compiler_options": compiler_options, **total_times(results)}
    env["overhead_time"] = max(0.0, 1000 * (time.perf_counter() - began) - env["total_compile_time"]
                               - env["total_benchmark_time"])
    best = results[0] if results and "__error__" not in results[0] else None
    env["best_config"] = best
    if not quiet:
        _print(results, best, list(description.parameters), goal.name, metrics, env["device_name"])
    return results, env


def run_kernel(kernel_name: Any, kernel_source: Any, problem_size: Any, arguments: Any, params: Any,
               grid_div_x: Any = None, grid_div_y: Any = None, grid_div_z: Any = None, lang: Any = None,
               device: Any = 0, platform: Any = 0, smem_args: Any = None, cmem_args: Any = None,
               texmem_args: Any = None, compiler: Any = None, compiler_options: Any = None, defines: Any = None,
               block_size_names: Any = None, quiet: Any = False, log: Any = None) -> List[Any]:
    """Runs one configuration and returns the arguments as one launch leaves them. Raises as tune_kernel() does."""
    _refuse(texmem_args=(texmem_args, "textures are not supported, hand the array to the kernel"),
            compiler=(compiler, "kernels are compiled by NVRTC"), log=(log, "leave it out"),
            platform=(platform, "there is one"))
    if not isinstance(params, Mapping):
        raise TypeError(f"params is {shown(params)}: it must be a dict of numbers")
    request = Request(kernel_name, kernel_source, problem_size, arguments,
                      {name: [value] for name, value in params.items()}, (grid_div_x, grid_div_y, grid_div_z),
                      lang=lang, smem_args=smem_args, cmem_args=cmem_args, compiler_options=compiler_options,
                      defines=defines, block_size_names=block_size_names, keep_results=True)
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        description = describe(request, folder)
        return running.results_of_one(description, device, description.default)


def _refuse(**given: Tuple[Any, str]) -> None:
    """Refuses arguments that have a value, by their names."""
    for name, (value, instead) in given.items():
        if value:
            raise UnsupportedError(f"{name} is {shown(value)}: leave it out, {instead}")


def _database(cache: Any, folder: str) -> str:
    """The file that keeps the trials: the cache's, else one that ends with the call."""
    if not cache:
        return os.path.join(folder, "trials.db")
    path: str = os.path.abspath(os.fspath(cache))
    return (path[:-len(".json")] if path.endswith(".json") else path) + ".autotune.db"


def _result(description: Description, trial: Mapping[str, Any], metrics: Any, verbose: bool) -> Result:
    configuration = description.configuration(trial["configuration"])
    result = result_of(trial, configuration)
    if "__error__" not in result:
        add_metrics(result, metrics)
    elif verbose:
        print(f"skipping config {get_config_string(configuration)} reason: {trial['detail']}")
    return result


def _print(results: List[Result], best: Any, names: List[str], objective: str, metrics: Any, device: str) -> None:
    keys = [*names, "time", *(metrics or {})]
    units = {"time": "ms"}
    print("Using: " + device)
    for result in results:
        if "__error__" not in result:
            print(get_config_string(result, keys, units))
    if best is None:
        print("no results to report")
        return
    print(f"\nBEST PERFORMING CONFIGURATION FOR OBJECTIVE {objective}:")
    print(get_config_string(best, keys, units))
