#!/usr/bin/env python3
"""Draws what gemm_vs_cublas wrote: rates of the cubes and of the other shapes, of this project, of
cuBLAS, and with --math strict the limit by the FMA rate or by memory. Needs matplotlib.

    plot.py strict.json strict.svg
"""
import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "autotune"  # the same file for the same data
import matplotlib.pyplot as plt  # noqa: E402

SERIES = (
    ("autotune", "tab:green", "o", lambda s: s["hot"]["median_us"]),
    ("cuBLAS", "tab:gray", "s", lambda s: s["hot_cublas"]["median_us"]),
    ("limit", "black", "_", lambda s: s["floor_us"]),
)


def tflops(shape, us):
    return 2 * shape["m"] * shape["n"] * shape["k"] / us / 1e6


def name(shape):
    layout = "" if shape["layout"] == "NN" else " " + shape["layout"]
    return "{m}x{n}x{k}".format(**shape) + layout


def is_cube(shape):
    return shape["m"] == shape["n"] == shape["k"]


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = json.load(file)
    cubes = sorted(filter(is_cube, document["shapes"]), key=lambda s: s["m"])
    others = [s for s in document["shapes"] if not is_cube(s)]
    math = document["shapes"][0]["math"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    for label, color, marker, time in SERIES if math == "strict" else SERIES[:2]:
        rates = [tflops(s, time(s)) for s in cubes]
        left.plot([s["m"] for s in cubes], rates, color=color, marker=marker, label=label)
        relative = [s["hot_cublas"]["median_us"] / time(s) for s in others]
        right.plot(range(len(others)), relative, color=color, marker=marker, linestyle="", label=label)
    left.set_xscale("log", base=2)
    left.set_xlabel("M = N = K")
    left.set_ylabel("TFLOP/s")
    left.set_ylim(bottom=0)
    right.set_xticks(range(len(others)),
                     [name(s) for s in others], rotation=20, ha="right")
    right.set_ylabel("rate, cuBLAS = 1")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("--math " + math + " on {device}, driver {driver}, cuBLAS {cublas}".format(**document))
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RESULTS.json PLOT.svg")
    main(*sys.argv[1:])
