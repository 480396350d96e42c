#!/usr/bin/env python3
"""Calibrates what a search says of its best (tuner/search/convergence.cpp) on recorded searches.

usage: search_traces 400 12 FILE... | calibrate.py [TRIALS]

The statement has one constant, the patience. It is the least multiple of 5 with which 97 % of the
searches that end at 98 % are right, each file counting alike. The table shows for each file how
searches end with the constant of the program, and the patience that the other files alone give,
with what comes of it on this file.
"""
import bisect
import math
import statistics
import sys

PATIENCE = 55  # as in convergence.hpp; the three below are in convergence.cpp
LEAST_GAIN = 0.001
FEWEST = 20
LEAST_SHARE = 0.97
GOAL = 0.98
CAREFUL = 0.97  # more than 95 %, since few recordings have several basins
PATIENCES = range(40, 105, 5)


class Search:
    """The states after each correct trial: trials, correct ones since the last gain as a share of
    what the patience is then, range, best time."""

    def __init__(self, best_us, times_us):
        self.best_us = best_us
        self.states = []
        fastest, gained_us, since_gain = [], math.inf, 0
        for trials, time_us in enumerate(times_us, 1):
            if time_us == 0:
                continue
            bisect.insort(fastest, time_us)
            since_gain += 1
            if fastest[0] < (1 - LEAST_GAIN) * gained_us:
                gained_us, since_gain = fastest[0], 0
            if len(fastest) >= FEWEST:
                slow_us = fastest[(len(fastest) - 1) * 9 // 10]
                correct = len(fastest) / trials
                self.states.append((trials, since_gain * correct, 1 - fastest[0] / slow_us, fastest[0]))

    def statements(self, patience):
        """The trials, the share that is said (0: nothing) and the true one, after each state."""
        floor_us, result = 0, []
        for trials, since_gain, span, best_us in self.states:
            if floor_us > best_us:
                floor_us = 0
            missed = span * math.exp(-since_gain / patience)
            floor_us = max(floor_us, (1 - missed) * best_us)
            said = floor_us / best_us
            result.append((trials, said if said >= LEAST_SHARE else 0, self.best_us / best_us))
        return result

    def end(self, patience):
        """The trials and the true share where the search ends at GOAL, or None."""
        return next(((n, true) for n, said, true in self.statements(patience) if said >= GOAL), None)

    def largest_fall(self):
        """Of the statement from trial to trial, where nothing was refuted."""
        states = self.statements(PATIENCE)
        return max([a - b for (_, a, true), (_, b, now) in zip(states, states[1:])
                    if a * now <= true] + [0])


def ended(searches, patience):
    return [end for end in (s.end(patience) for s in searches) if end]


def right(ends):
    return sum(true >= GOAL for _, true in ends)


def share_right(files, patience):
    """Each file counts alike."""
    ends = {name: ended(searches, patience) for name, searches in files.items()}
    all_ended = sum(len(ends[name]) / len(files[name]) for name in files)
    all_right = sum(right(ends[name]) / len(files[name]) for name in files)
    return all_right / all_ended if all_ended else 1


def calibrated(files):
    return next((p for p in PATIENCES if share_right(files, p) >= CAREFUL), PATIENCES[-1])


def row(name, searches, held_out):
    ends, held_out_ends = ended(searches, PATIENCE), ended(searches, held_out)
    mean = statistics.mean(n for n, _ in ends) if ends else 0
    return (f"{name:32} {len(searches):5} {len(ends):6} {mean:7.0f} {right(ends):6} {held_out:9} "
            f"{len(held_out_ends):6} {right(held_out_ends):6}")


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    files = {}
    for line in sys.stdin:
        name, best_us, *times_us = line.split()
        files.setdefault(name, []).append(
            Search(float(best_us), [float(t) for t in times_us[:most]]))
    print(f"searches that end at {100 * GOAL:.0f} %, at most {most} trials; patience {PATIENCE}, and")
    print("the patience that the other files give")
    print(f"{'file':32} {'runs':>5} {'ended':>6} {'trials':>7} {'right':>6} {'patience':>9} "
          f"{'ended':>6} {'right':>6}")
    held_out = {}
    for name, searches in files.items():
        held_out[name] = calibrated({n: s for n, s in files.items() if n != name})
        print(row(name, searches, held_out[name]))
    everything = [s for searches in files.values() for s in searches]
    ends = ended(everything, PATIENCE)
    out = [e for name, searches in files.items() for e in ended(searches, held_out[name])]
    print(f"\nall: {len(ends)} of {len(everything)} ended, {right(ends)} right "
          f"({100 * right(ends) / len(ends):.1f} %); each file counting alike "
          f"{100 * share_right(files, PATIENCE):.1f} % right")
    print(f"held out: {len(out)} ended, {right(out)} right ({100 * right(out) / len(out):.1f} %)")
    print(f"patience that all files give: {calibrated(files)}")
    last = [s.statements(PATIENCE)[-1] for s in everything]
    near = [said for _, said, true in last if true >= 0.995]
    print(f"median statement of the {len(near)} searches that end within 0.5 %: "
          f"{100 * statistics.median(near):.1f} %")
    print(f"largest fall of a statement that was not refuted: "
          f"{100 * max(s.largest_fall() for s in everything):.2f} points")


main()
