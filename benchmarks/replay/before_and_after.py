#!/usr/bin/env python3
"""Compares two builds' searches of recorded spaces: shares of the optimum in %, means of the runs.

usage: before_and_after.py BEFORE AFTER

BEFORE and AFTER are what search_traces (benchmarks/statement) of each build printed for the same
files, e.g. of `search_traces 400 100 FILE...`. A difference has its standard error, of the runs as
they differ in pairs, since both builds draw from the same seeds.
"""
import statistics
import sys

BUDGETS = (10, 25, 50, 100, 200, 400)


def read(path):
    """The shares after each budget that the runs reached, for each file and run."""
    files = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, best_us, *times_us = line.split()
            files.setdefault(name, []).append(shares(float(best_us), [float(t) for t in times_us]))
    return files


def shares(best_us, times_us):
    result, least = [], float("inf")
    for trials, time_us in enumerate(times_us, 1):
        if time_us > 0:
            least = min(least, time_us)
        if trials in BUDGETS:
            result.append(100 * best_us / least)
    return result


def cells(before, after):
    """`before after difference±error` for each budget, and the three figures' means."""
    text, means = [], []
    for old, new in zip(zip(*before), zip(*after)):
        differences = [b - a for a, b in zip(old, new)]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        means.append((statistics.mean(old), statistics.mean(new)))
        gain = means[-1][1] - means[-1][0]
        text.append(f"{means[-1][0]:6.1f} {means[-1][1]:6.1f} {gain:+5.1f}±{error:3.1f}")
    return text, means


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    before, after = read(sys.argv[1]), read(sys.argv[2])
    every = []
    print("before, after, difference, after " + ", ".join(map(str, BUDGETS)) + " trials")
    for name in before:
        text, means = cells(before[name], after[name])
        every.append(means)
        print(f"{name[:26]:26} {len(after[name]):4} runs " + " | ".join(text))
    totals = []
    for column in zip(*every):
        old, new = (statistics.mean(values) for values in zip(*column))
        totals.append(f"{old:6.1f} {new:6.1f} {new - old:+5.1f}    ")
    print(f"{'mean of the files':36} " + " | ".join(totals))


main()
