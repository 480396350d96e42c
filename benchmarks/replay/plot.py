#!/usr/bin/env python3
"""Draws what `autotune replay --json` printed: for each space the mean share of the optimum against
the trials, a line for each strategy. Needs matplotlib.

    plot.py replay.json replay.svg
"""
import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "autotune"  # the same file for the same data
import matplotlib.pyplot as plt  # noqa: E402

COLORS = {"random": "tab:gray", "local": "tab:blue", "evolutionary": "tab:orange",
          "model": "tab:green", "exhaustive": "black"}


def draw(axes, space):
    for strategy in space["strategies"]:
        points = strategy["curve"]
        axes.plot([p["trials"] for p in points], [100 * p["mean"] for p in points], marker="o",
                  color=COLORS.get(strategy["strategy"]), label=strategy["strategy"])
    axes.set_title(space["name"].split(" on ")[0], fontsize=9)
    axes.set_xscale("log")
    axes.set_xlabel("trials")
    axes.grid(alpha=0.3)


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = json.load(file)
    spaces = document["spaces"]
    figure, panels = plt.subplots(1, len(spaces), figsize=(1 + 2.9 * len(spaces), 3.4), sharey=True,
                                  squeeze=False)
    for axes, space in zip(panels[0], spaces):
        draw(axes, space)
    panels[0][0].set_ylabel("% of the optimum, mean of {repeats} runs".format(**document))
    panels[0][-1].legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py REPLAY.json PLOT.svg")
    main(sys.argv[1], sys.argv[2])
