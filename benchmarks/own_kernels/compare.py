#!/usr/bin/env python3
"""Compares tuning with Kernel Tuner: the same kernels and spaces, results verified by both, a kernel at a time.

usage: compare.py AUTOTUNE [--seconds 30] [--theirs 240] [--only NAME ...]

AUTOTUNE is the program. Kernel Tuner, NumPy and CuPy are imported; Kernel Tuner compiles by NVRTC through CuPy. For
each kernel `autotune tune` has --seconds, then Kernel Tuner's genetic algorithm has --theirs. Printed are the verified
trials of --seconds of each, and the time of autotune's winner and of Kernel Tuner's, measured by turns by
`autotune bench`.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile

import cupy
import kernel_tuner
import numpy

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "own_kernels"
random = numpy.random.default_rng(1)


def uniform(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


def product():
    m = n = k = 1024
    a, b, c = uniform(m, k), uniform(k, n), numpy.zeros((m, n), "float32")
    return {"sizes": {"m": m, "n": n, "k": k}, "arguments": [a, b, c, *map(numpy.int32, (m, n, k))],
            "output": 2, "problem": (n, m), "block": ["TILE_WIDTH", "TILE_WIDTH"], "simple_block": (16, 16),
            "divisors": (["TILE_WIDTH", "RESULTS_X"], ["TILE_WIDTH", "RESULTS_Y"]), "tolerance": 2e-3,
            "restrictions": ["TILE_WIDTH <= DEPTH * 4", "DEPTH <= TILE_WIDTH * 4", "UNROLL <= DEPTH",
                             "RESULTS_X * RESULTS_Y * TILE_WIDTH <= 512",
                             "4 * (TILE_WIDTH * RESULTS_Y * (DEPTH + PADDING) + DEPTH * TILE_WIDTH * RESULTS_X)"
                             " <= 49152"]}


def convolution():
    width, height, radius = 4096, 4096, 3
    taps = (2 * radius + 1)**2
    image = ("(BLOCK_Y * RESULTS_Y + 2 * RADIUS) * (BLOCK_X * RESULTS_X + 2 * RADIUS + PADDING)"
             .replace("RADIUS", str(radius)))
    return {"sizes": {"width": width, "height": height, "radius": radius}, "defines": {"RADIUS": radius},
            "arguments": [uniform(height, width), uniform(taps), numpy.zeros((height, width), "float32"),
                          *map(numpy.int32, (width, height))],
            "output": 2, "problem": (width, height), "block": ["BLOCK_X", "BLOCK_Y"], "simple_block": (32, 8),
            "divisors": (["BLOCK_X", "RESULTS_X"], ["BLOCK_Y", "RESULTS_Y"]), "tolerance": 1e-3,
            "restrictions": ["32 <= BLOCK_X * BLOCK_Y <= 1024", "SHARED_IMAGE == 1 or PADDING == 0",
                             f"4 * (SHARED_IMAGE * {image} + SHARED_FILTER * {taps}) <= 49152"]}


def nbody():
    n = 16384
    return {"sizes": {"n": n}, "arguments": [uniform(n, 4), numpy.zeros((n, 4), "float32"), numpy.int32(n)],
            "output": 1, "problem": (n,), "block": ["BLOCK"], "simple_block": (128,),
            "divisors": (["BLOCK", "BODIES"],), "tolerance": 1.0,
            "restrictions": ["SHARED == 1 or TILES == 1", "16 * BLOCK * TILES * SHARED <= 49152"]}


def stencil():
    width, height, steps = 4096, 4096, 2
    points = f"(BLOCK_Y * POINTS_Y + {2 * steps}) * (BLOCK_X * POINTS_X + {2 * steps} + PADDING)"
    return {"sizes": {"width": width, "height": height, "steps": steps}, "defines": {"STEPS": steps},
            "arguments": [uniform(height, width), numpy.zeros((height, width), "float32"),
                          *map(numpy.int32, (width, height))],
            "output": 1, "problem": (width, height), "block": ["BLOCK_X", "BLOCK_Y"], "simple_block": (16, 4),
            "divisors": (["BLOCK_X", "POINTS_X"], ["BLOCK_Y", "POINTS_Y"]), "tolerance": 1e-3,
            "restrictions": ["32 <= BLOCK_X * BLOCK_Y <= 1024", f"AT_ONCE <= {steps}", f"8 * {points} <= 49152"]}


def softmax():
    rows, columns = 4096, 4096
    return {"sizes": {"rows": rows, "columns": columns},
            "arguments": [3 * uniform(rows, columns), numpy.zeros((rows, columns), "float32"),
                          *map(numpy.int32, (rows, columns))],
            "output": 1, "problem": (rows,), "block": ["THREADS", "ROWS"], "simple_block": (64,),
            "divisors": (["ROWS"],), "tolerance": 1e-5, "restrictions": ["32 <= THREADS * ROWS <= 1024"]}


KERNELS = {"matmul": product, "convolution": convolution, "nbody": nbody, "stencil": stencil, "softmax": softmax}


def run(*arguments):
    done = subprocess.run([str(each) for each in arguments], check=True, text=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def named(kernel, case):
    return ["--kernel", EXAMPLES / f"{kernel}.cu", "--size", ",".join(f"{k}={v}" for k, v in case["sizes"].items())]


def text_of(configuration):
    return ",".join(f"{name}={value}" for name, value in configuration.items())


def ours(program, kernel, case, seconds):
    """The number of verified trials, and the winner's configuration."""
    report = run(program, "tune", *named(kernel, case), "--budget", f"{seconds:g}", "--json")
    with contextlib.closing(sqlite3.connect(os.environ["AUTOTUNE_DB"])) as database:
        right, = database.execute(
            "SELECT count(*) FROM trial JOIN problem ON problem = problem.id WHERE status = 'ok' AND operation = ?",
            (kernel,)).fetchone()
    return right, report["results"][0]["configuration"]


def theirs(program, kernel, case, window, seconds):
    """The verified trials of Kernel Tuner in as many seconds as autotune had, and its winner after `seconds`."""
    parameters = run(program, "templates", "--kernel", EXAMPLES / f"{kernel}.cu", "--json")["templates"][0]["parameters"]
    space = {each["name"]: each["values"] for each in parameters}
    # Kernel Tuner and CuPy look for kernels by their names as C has them.
    source = (EXAMPLES / f"{kernel}.cu").read_text(encoding="utf-8").replace("__global__", 'extern "C" __global__')
    defines = case.get("defines", {})
    options = ["--std=c++17", *(f"-D{name}={value}" for name, value in defines.items())]
    answer = [None] * len(case["arguments"])
    answer[case["output"]] = expected(kernel, source, case, space, options)
    grid = dict(zip(("grid_div_x", "grid_div_y"), case["divisors"]))
    began = datetime.datetime.now(datetime.timezone.utc)
    results, _ = kernel_tuner.tune_kernel(
        kernel, source, case["problem"], case["arguments"], space, restrictions=case["restrictions"], answer=answer,
        atol=case["tolerance"], block_size_names=case["block"], compiler_options=options, lang="CUPY", quiet=True,
        strategy="genetic_algorithm", strategy_options={"time_limit": seconds, "maxiter": 10**6}, **grid)
    right = [each for each in results if isinstance(each["time"], float)]
    # A configuration that the search comes back to is in the list again, though it was measured once.
    first = {text_of({name: each[name] for name in space}) for each in right
             if (datetime.datetime.fromisoformat(each["timestamp"]) - began).total_seconds() <= window}
    best = min(right, key=lambda each: each["time"])
    return len(first), {name: best[name] for name in space}


def expected(kernel, source, case, space, options):
    """What the file's simple kernel computes."""
    values = [f"-D{name}={values[0]}" for name, values in space.items()]
    code = re.sub("^#pragma kernel.*$", "", source, flags=re.M)
    module = cupy.RawModule(code=code, options=tuple([*options, *values]))
    arrays = [cupy.asarray(each) if isinstance(each, numpy.ndarray) else each for each in case["arguments"]]
    blocks = tuple(-(-size // block) for size, block in zip(case["problem"], case["simple_block"]))
    module.get_function(kernel + "_simple")(blocks, case["simple_block"], tuple(arrays))
    return cupy.asnumpy(arrays[case["output"]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--theirs", type=float, default=240)
    parser.add_argument("--only", nargs="*", default=list(KERNELS))
    asked = parser.parse_args()
    os.environ["AUTOTUNE_DB"] = tempfile.mkdtemp() + "/autotune.db"
    print(f"Kernel Tuner {kernel_tuner.__version__}, CuPy {cupy.__version__}; autotune for {asked.seconds:g} s, Kernel "
          f"Tuner's genetic_algorithm for {asked.theirs:g} s")
    for kernel in asked.only:
        case = KERNELS[kernel]()
        trials, winner = ours(asked.program, kernel, case, asked.seconds)
        their_trials, their_winner = theirs(asked.program, kernel, case, asked.seconds, asked.theirs)
        result = run(asked.program, "bench", *named(kernel, case), "--config", text_of(winner), "--against",
                     text_of(their_winner), "--json")["results"][0]
        print(f"{kernel} {result['problem']}")
        print(f"  verified trials in {asked.seconds:g} s: {trials} and {their_trials}, {trials / their_trials:.1f} times "
              "as many")
        print(f"  winners: {result['median_us']:.2f} us and {result['against']['median_us']:.2f} us, "
              f"{result['speedup']:.4f} times as fast ({result['speedup_low']:.4f} to {result['speedup_high']:.4f})")
        print(f"    {text_of(winner)}\n    {text_of(their_winner)}", flush=True)


if __name__ == "__main__":
    main()
