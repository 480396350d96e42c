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
MATHS = {"strict": "Strict FP32", "emulated": "FP32 emulated on tensor cores", "tf32": "TF32"}


def tflops(shape, us):
    return 2 * shape["m"] * shape["n"] * shape["k"] / us / 1e6


def name(shape):
    layout = "" if shape["layout"] == "NN" else " " + shape["layout"]
    return "{m}x{n}x{k}".format(**shape) + layout


def is_cube(shape):
    return shape["m"] == shape["n"] == shape["k"]


def draw_cubes(axes, cubes, series):
    for label, color, marker, time in series:
        axes.plot(range(len(cubes)), [tflops(s, time(s)) for s in cubes], color=color, marker=marker, label=label)
    axes.set_xticks(range(len(cubes)), [s["m"] for s in cubes], rotation=20)
    axes.set_xlabel("M = N = K")
    axes.set_ylabel("TFLOP/s")


def draw_others(axes, others, series):
    for label, color, marker, time in series:
        relative = [s["hot_cublas"]["median_us"] / time(s) for s in others]
        axes.plot(range(len(others)), relative, color=color, marker=marker, linestyle="", label=label)
    axes.set_xticks(range(len(others)), [name(s) for s in others], rotation=20, ha="right")
    axes.set_ylabel("rate, cuBLAS = 1")


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = json.load(file)
    math = document["shapes"][0]["math"]
    series = SERIES if math == "strict" else SERIES[:2]
    cubes = sorted(filter(is_cube, document["shapes"]), key=lambda s: s["m"])
    others = [s for s in document["shapes"] if not is_cube(s)]
    panels = [(draw, shapes) for draw, shapes in ((draw_cubes, cubes), (draw_others, others)) if shapes]
    figure, all_axes = plt.subplots(1, len(panels), figsize=(5.5 * len(panels), 4), squeeze=False)
    for axes, (draw, shapes) in zip(all_axes[0], panels):
        draw(axes, shapes, series)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    title = MATHS[math] + " on {device}, driver {driver}, cuBLAS {cublas}".format(**document)
    figure.suptitle(title, wrap=True)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RESULTS.json PLOT.svg")
    main(*sys.argv[1:])
