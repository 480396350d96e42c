"""Kernel Tuner's strategies and their options, as options of `autotune tune`."""

from __future__ import annotations

import math
from typing import Any, List, Mapping

from ..errors import UnsupportedError
from ..problem import whole
from .messages import shown

# The nearest kind of search that the program has.
NAMES = {
    "brute_force": "exhaustive", "random_sample": "random",
    "bayes_opt": "model", "skopt": "model",
    "genetic_algorithm": "evolutionary", "diff_evo": "evolutionary", "pso": "evolutionary",
    "firefly_algorithm": "evolutionary",
    "minimize": "local", "basinhopping": "local", "dual_annealing": "local", "simulated_annealing": "local",
    "mls": "local", "greedy_mls": "local", "ordered_greedy_mls": "local", "greedy_ils": "local",
}
TRIALS = 100  # of strategies that do not try everything, where the script sets no limit


def options_of(strategy: Any, strategy_options: Any, seed: Any, configurations: int) -> List[str]:
    """--strategy with its budget. configurations: the most that there may be."""
    name = "brute_force" if strategy is None else strategy
    if not isinstance(name, str) or name not in NAMES:
        raise UnsupportedError(f"strategy is {shown(strategy)}: it must be one of {', '.join(NAMES)}")
    own = NAMES[name]
    given = {} if strategy_options is None else strategy_options
    if not isinstance(given, Mapping):
        raise TypeError(f"strategy_options is {shown(strategy_options)}: it must be a dict")
    for option in given:
        if option not in ("max_fevals", "time_limit"):
            raise UnsupportedError(f"strategy_options has {option!r}: it may have 'max_fevals' and 'time_limit'")
    trials, seconds = given.get("max_fevals"), given.get("time_limit")
    options = ["--strategy", own]
    if seconds is not None:
        if isinstance(seconds, str) or not 0 < seconds < math.inf:
            raise ValueError(f"strategy_options['time_limit'] is {shown(seconds)}: it must be a number above 0")
        options += ["--budget", f"{float(seconds):.9g}s"]
    if trials is None and seconds is None:
        trials = configurations if own == "exhaustive" else TRIALS
    if trials is not None:
        number = whole(trials)
        if number is None or number < 1:
            raise ValueError(f"strategy_options['max_fevals'] is {shown(trials)}: it must be a whole number from 1 on")
        options += ["--trials", str(number)]
    if seed is not None:
        number = whole(seed)
        if number is None or number < 0:
            raise ValueError(f"seed is {shown(seed)}: it must be a whole number from 0 on")
        options += ["--seed", str(number)]
    return options
