"""Trials of the program as Kernel Tuner's results, with metrics and an objective."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type

from ..errors import UnsupportedError
from .messages import shown

Result = Dict[str, Any]


class ErrorConfig(str):
    """Why a configuration has no time. Its text is the name of its class."""

    def __new__(cls) -> "ErrorConfig":
        return super().__new__(cls, cls.__name__)

    def __repr__(self) -> str:
        return self.__class__.__name__


class InvalidConfig(ErrorConfig):
    """It cannot be launched. The program leaves out such configurations."""


class CompilationFailedConfig(ErrorConfig):
    """It does not compile."""


class RuntimeFailedConfig(ErrorConfig):
    """It cannot be launched, or fails then."""


_ERRORS: Dict[str, Type[ErrorConfig]] = {
    "compile_failed": CompilationFailedConfig, "compile_timeout": CompilationFailedConfig,
    "compile_crashed": CompilationFailedConfig, "rejected_spills": CompilationFailedConfig,
}

_HIGHER_IS_BETTER = {
    "time": False, "energy": False, "cost": False, "loss": False, "fitness": True, "GFLOP/s": True, "TFLOP/s": True,
    "GB/s": True, "TB/s": True, "GFLOPS/W": True, "TFLOPS/W": True, "GFLOP/J": True, "TFLOP/J": True,
}


class Objective:
    """What results are sorted by."""

    def __init__(self, name: Any, higher_is_better: Any) -> None:
        names = [name or "time"] if not isinstance(name, (list, tuple)) else list(name)
        better = [higher_is_better] if not isinstance(higher_is_better, (list, tuple)) else list(higher_is_better)
        if len(names) != 1 or len(better) != 1 or not isinstance(names[0], str):
            raise UnsupportedError(f"objective is {shown(name)}: it must be one name, e.g. 'time' or that of a metric")
        self.name: str = names[0]
        if better[0] is None and self.name not in _HIGHER_IS_BETTER:
            raise ValueError(f"objective_higher_is_better is missing: say it of the objective {self.name!r}")
        self.higher_is_better = _HIGHER_IS_BETTER[self.name] if better[0] is None else bool(better[0])

    def check(self, metrics: Optional[Mapping[str, Any]]) -> None:
        if self.name != "time" and self.name not in (metrics or {}):
            raise ValueError(f"objective is {self.name!r}: it must be 'time' or the name of a metric")

    def cost(self, result: Result) -> float:
        """What is lower for a better result; infinite for one that failed."""
        if "__error__" in result:
            return math.inf
        return -float(result[self.name]) if self.higher_is_better else float(result[self.name])


def check_metrics(metrics: Any) -> None:
    if metrics is None:
        return
    if not isinstance(metrics, Mapping):
        raise ValueError(f"metrics is {shown(metrics)}: it must be a dict of texts and functions")
    for name, metric in metrics.items():
        if not isinstance(metric, str) and not callable(metric):
            raise ValueError(f"metrics[{name!r}] is {shown(metric)}: it must be a text or a function of a dict")


def add_metrics(result: Result, metrics: Optional[Mapping[str, Any]]) -> None:
    """Adds metrics in their order, so that each may use those before it."""
    for name, metric in (metrics or {}).items():
        if isinstance(metric, str):
            result[name] = eval(metric.strip(), {"math": math}, result)
        else:
            result[name] = metric(result)


def result_of(trial: Mapping[str, Any], configuration: Mapping[str, Any]) -> Result:
    """One result, with times in milliseconds. The program does not time the phases that have 0 apart."""
    result: Result = dict(configuration)
    measured = trial["measurement"]
    times = [each / 1000 for each in measured["samples_us"]]
    if trial["status"] == "ok":
        result["time"] = measured["median_us"] / 1000
        result["times"] = times
    else:
        result["__error__"] = _ERRORS.get(trial["status"], RuntimeFailedConfig)()
    result["compile_time"] = max(0.0, trial["resources"]["compile_ms"])
    result["verification_time"] = 0
    result["benchmark_time"] = sum(times) * measured["launches_per_sample"]
    result["strategy_time"] = 0
    result["framework_time"] = 0
    result["timestamp"] = trial["started_at"]
    return result


def in_order(results: Sequence[Result], objective: Objective) -> List[Result]:
    """The best first, those that failed last."""
    return sorted(results, key=objective.cost)


def get_best_config(results: Sequence[Result], objective: str, objective_higher_is_better: bool = False) -> Result:
    """The best of some results."""
    return min(results, key=Objective(objective, objective_higher_is_better).cost)


def get_config_string(params: Mapping[str, Any], keys: Optional[Sequence[str]] = None,
                      units: Optional[Mapping[str, str]] = None) -> str:
    """A line of names and values, "block_size_x=128, time=0.250ms"; of the keys alone if there are any."""
    def text(name: str, value: Any) -> str:
        unit = "" if units is None or isinstance(value, ErrorConfig) else units.get(name, "")
        return f"{name}={value:.3f}{unit}" if isinstance(value, float) else f"{name}={value}{unit}"
    return ", ".join(text(name, value) for name, value in params.items() if not keys or name in keys)


def total_times(results: Sequence[Result]) -> Dict[str, float]:
    """The sums of the results' times, under the names that `env` has."""
    names = ("framework_time", "strategy_time", "compile_time", "verification_time", "benchmark_time")
    return {"total_" + name: sum(each[name] for each in results) for name in names}
