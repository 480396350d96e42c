"""Results and what is known of the machine, as files of the T4 format 1.0.0."""

from __future__ import annotations

import json
import os
import platform
from typing import Any, Dict, Mapping, Sequence

from . import program
from .messages import shown

_INVALIDITY = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime", "InvalidConfig": "constraints"}
_TIMES = {"compile_time": "compilation_time", "verification_time": "validation", "strategy_time": "search_algorithm",
          "framework_time": "framework"}
_NOT_MEASURED = {*_TIMES, "benchmark_time", "timestamp", "times", "__error__"}


def store_output_file(output_filename: Any, results: Sequence[Mapping[str, Any]], tune_params: Mapping[str, Any],
                      objective: str = "time") -> None:
    """Writes the results of tune_kernel(). Folders are made, and ".json" is added where it is missing."""
    entries = []
    for result in results:
        times: Dict[str, Any] = {own: result[name] for name, own in _TIMES.items() if name in result}
        times["runtimes"] = result.get("times", [])
        error = result.get("__error__")
        names = [name for name in result if name not in tune_params and name not in _NOT_MEASURED]
        entries.append({
            "timestamp": result.get("timestamp", ""),
            "configuration": {name: value for name, value in result.items() if name in tune_params},
            "objectives": [objective],
            "times": times,
            "invalidity": "correct" if error is None else _INVALIDITY[str(error)],
            "correctness": 1 if error is None else 0,
            "measurements": [{"name": name, "value": result[name], "unit": "ms" if name == "time" else ""}
                             for name in names],
        })
    _store(output_filename, {"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": entries})


def store_metadata_file(metadata_filename: Any) -> None:
    """Writes what is known of the system and its devices."""
    devices = program.run_json(["devices", "--json"], allowed=(0, 3))
    version = program.run_json(["--version", "--json"])["autotune"]
    hardware = {"hardware_description": [{"machine": platform.machine(), "processors": os.cpu_count()}],
                "operating_system": platform.system()}
    environment = {"device_query": {"autotune": devices}, "requirements": [f"autotune=={version}"]}
    metadata = {"operating_system": platform.system(), "hardware": hardware, "environment": environment}
    _store(metadata_filename, {"schema_version": "1.0.0", "metadata": metadata})


def _store(name: Any, document: Mapping[str, Any]) -> None:
    path = os.fspath(name)
    path = path if path.endswith(".json") else path + ".json"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, default=_plain)


def _plain(value: Any) -> Any:
    """A number or an array of NumPy as JSON has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{shown(value)} cannot be written as JSON")
