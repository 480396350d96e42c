#!/usr/bin/env python3
"""Tunes again and again, each time into an empty database, and checks that the winners agree.

usage: same_winner.py PROGRAM [--runs 10] [--keep FOLDER] [options of tune]

For each size every two runs must have the same winner, or one that the other calls a tie. Compiled
kernels are kept from run to run. Beside that, of the configurations that all runs sampled to the
end: how far the medians of one differ between runs, once what a run has in common (its clock, say)
is taken out.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

from kill_storm import agree


def output_of(command, environment):
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"same_winner: {' '.join(command)} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def sampled(document):
    """The medians of a run's trials, by what was tried."""
    medians = {}
    for trial in document["trials"]:
        if trial["status"] == "ok" and not trial["measurement"]["screened_out"]:
            name = json.dumps([trial["problem"], trial["template"], trial["configuration"]])
            medians[name] = trial["measurement"]["median_us"]
    return medians


def print_spread(runs):
    common = [[run[name] for run in runs] for name in set.intersection(*map(set, runs))]
    if not common:
        return
    shared = [statistics.median(medians[i] / statistics.mean(medians) for medians in common)
              for i in range(len(runs))]
    spread = sorted(max(m / s for m, s in zip(medians, shared)) / min(m / s for m, s in zip(medians, shared)) - 1
                    for medians in common)
    print(f"{len(spread)} configurations sampled by all: largest over least median of one "
          f"{spread[len(spread) // 2]:.2%} in the middle, {spread[len(spread) * 9 // 10]:.2%} of nine in ten at most; "
          f"runs as a whole {max(shared) / min(shared) - 1:.2%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--keep", help="leave the databases in this folder")
    arguments, further = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        results, medians = [], []
        for run in range(arguments.runs):
            environment = dict(os.environ, AUTOTUNE_DB=f"{folder}/run-{run + 1}.db",
                               XDG_CACHE_HOME=f"{folder}/cache")
            document = output_of([arguments.program, "tune", "--json", *further], environment)
            results.append(document["results"])
            medians.append(sampled(output_of([arguments.program, "db", "export", "--format", "json"], environment)))
            for result in document["results"]:
                size = "x".join(str(result[side]) for side in "mnk")
                values = ",".join(f"{name}={value}" for name, value in result["configuration"].items())
                print(f"run {run + 1}: {size} {result['median_us']:.2f} us, {len(result['ties'])} ties, "
                      f"{result['template']} {values}", flush=True)
        print_spread(medians)
        for of_size in zip(*results, strict=True):
            for one, other in itertools.combinations(of_size, 2):
                if not agree(one, other):
                    sys.exit(f"same_winner: two runs do not agree:\n{one}\n{other}")
        print(f"same_winner: passed ({arguments.runs} runs)")


if __name__ == "__main__":
    main()
