#!/usr/bin/env python3
"""Judges the rule of leaders that are apart (tuner/search/convergence.cpp) on recorded searches.

usage: search_parts parts 400 4 FILE... | leaders.py

For each space: the searches that end at 98 %, and how many of these are right, without the rule and
with it.
"""
import bisect
import math
import sys

PATIENCE, LEAST_GAIN, FEWEST, GOAL = 55, 0.001, 20, 0.98
LEADERS, FAR_LEADERS, FAR, CLEARLY_SLOWER = 10, 5, 3, 0.05


def spaces(lines):
    space = None
    for line in lines:
        kind, *rest = line.split()
        if kind == "S":
            if space:
                yield space
            space = {"name": rest[0], "best": float(rest[1]), "configurations": [], "searches": []}
        elif kind == "C":
            space["configurations"].append((float(rest[0]), rest[1:]))
        else:
            space["searches"].append([int(index) for index in rest])
    if space:
        yield space


def are_apart(leaders):
    (best_us, best), (last_us, _) = leaders[0], leaders[-1]
    if len(leaders) <= LEADERS or best_us > (1 - CLEARLY_SLOWER) * last_us:
        return False
    far = [sum(a != b for a, b in zip(values, best)) >= FAR for _, values in leaders]
    return sum(far) >= FAR_LEADERS


def end(space, search, has_rule):
    """The true share where the search ends at GOAL, or None."""
    times, leaders, gained_us, since_gain, floor_us = [], [], math.inf, 0, 0
    for trials, index in enumerate(search, 1):
        time_us, values = space["configurations"][index]
        if time_us == 0:
            continue
        bisect.insort(times, time_us)
        leaders = sorted([*leaders, (time_us, values)])[:LEADERS + 1]
        since_gain += 1
        best_us = times[0]
        if best_us < (1 - LEAST_GAIN) * gained_us:
            gained_us, since_gain = best_us, 0
        if floor_us > best_us:
            floor_us = 0
        if len(times) < FEWEST:
            continue
        span = 1 - best_us / times[(len(times) - 1) * 9 // 10]
        missed = span * math.exp(-since_gain * len(times) / trials / PATIENCE)
        floor_us = max(floor_us, (1 - missed) * best_us)
        if floor_us / best_us >= GOAL and not (has_rule and are_apart(leaders)):
            return space["best"] / best_us
    return None


def main():
    print(f"searches that end at {100 * GOAL:.0f} %, and how many are right, without and with the rule")
    print(f"{'space':46} {'runs':>4} {'ended':>6} {'right':>6} {'ended':>6} {'right':>6}")
    all_counts = [0] * 5
    for space in spaces(sys.stdin):
        counts = [len(space["searches"])]
        for has_rule in (False, True):
            ends = [end(space, search, has_rule) for search in space["searches"]]
            reached = [share for share in ends if share is not None]
            counts += [len(reached), sum(share >= GOAL for share in reached)]
        all_counts = [a + b for a, b in zip(all_counts, counts)]
        print("{:46} {:4} {:6} {:6} {:6} {:6}".format(space["name"], *counts))
    print("{:46} {:4} {:6} {:6} {:6} {:6}".format("all", *all_counts))


main()
