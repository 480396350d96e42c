#!/usr/bin/env python3
"""Draws what `prediction_benchmark compare` wrote: for each kernel its rates as shares of the tuned
kernel's, one for each shape, sorted. Needs matplotlib.

    plot.py held_out.jsonl predicted.svg
"""
import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "autotune"  # the same file for the same data
import matplotlib.pyplot as plt  # noqa: E402

SERIES = (
    ("oracle", "the fastest of the portfolio", "tab:blue"),
    ("predicted", "predicted: what gemm() takes", "tab:green"),
    ("nearest", "the nearest shipped winner", "tab:orange"),
    ("cublas", "cuBLAS", "tab:gray"),
)


def main(source, target):
    with open(source, encoding="utf-8") as file:
        times = [json.loads(line)["us"] for line in file]
    figure, axes = plt.subplots(figsize=(8, 4))
    for name, label, color in SERIES:
        shares = sorted(us["tuned"] / us[name] for us in times if name in us)
        ranks = [100 * (i + 0.5) / len(shares) for i in range(len(shares))]
        axes.plot(ranks, shares, color=color, label=label)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xlabel("percentile of shapes")
    axes.set_ylabel("rate, tuned for 10 s = 1")
    axes.set_ylim(0, 1.5)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RESULTS.jsonl PLOT.svg")
    main(*sys.argv[1:])
