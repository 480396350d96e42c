#!/usr/bin/env python3
"""Judges what searches of products say of their best, by all searches of the same products.

usage: searches.py collect PROGRAM SECONDS COUNT FILE [SEED]   on a machine with GPUs, one search on each
       searches.py judge FILE... [--by FILE...]                the files after --by are not judged

With SEED the problems are other random ones, all with many results for each SM.

A file has a line for each problem, `# MxNxK LAYOUT best US`, then one for each trial in its order:
template, time in us (0: failed) and configuration. The best of a problem is the least time in any
of the files. The table shows how many searches would end at 98 % with a patience
(tuner/search/convergence.cpp), after how many trials, and how many of these are right: for problems
of which a winner ships, which their searches begin with, and for others, with many and with few
results for each SM. Last come the shares of the best that each file's searches have reached.
"""
import bisect
import json
import math
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading

LEAST_GAIN = 0.001  # like the two below as in convergence.cpp
FEWEST = 20
GOAL = 0.98
MANY_RESULTS = 7500  # for each SM: fewer do not fill a device without splitting K
SMS = 132
PATIENCES = (15, 20, 25, 30, 45, 55)
WINNERS = pathlib.Path(__file__).resolve().parents[2] / "db/tuned/nvidia-h200.jsonl"
AFTER = (10, 25, 50, 75)
NAMED = ("1024x1024x1024", "2048x2048x2048", "3200x3200x3200", "512x512x512", "4096x4096x4096", "768x768x768",
         "4096x64x4096", "64x64x65536", "333x4097x1500", "16x4096x4096")
TRIALS = """SELECT s.template, t.status, t.median_us, t.configuration FROM trial t JOIN scope s ON t.scope = s.id
            ORDER BY t.id"""


def problems(count, seed=None):
    """Of (size, layout): the named ones, then random ones, or random ones with many results alone."""
    rng = random.Random(20261125 if seed is None else seed)
    chosen = [(size, "NN") for size in NAMED] if seed is None else []
    fewest_results = 0 if seed is None else MANY_RESULTS * SMS
    while len(chosen) < count:
        m, n, k = (round(2 ** rng.uniform(low, high)) for low, high in ((4, 12.6), (4, 12.6), (5, 13)))
        if 1e7 < m * n * k < 2e11 and m * n >= fewest_results:
            chosen.append((f"{m}x{n}x{k}", rng.choice(["NN", "NN", "NT", "TN", "TT"])))
    return chosen[:count]


def search(program, seconds, gpu, cores, problem):
    """The lines of one problem's search, with nothing cached."""
    size, layout = problem
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu), XDG_CACHE_HOME=folder)
        subprocess.run(["taskset", "-c", cores, program, "--sizes", size, "--layout", layout, "--budget", f"{seconds}s",
                        "--db", f"{folder}/a.db", "--json"], env=environment, check=True, capture_output=True)
        trials = sqlite3.connect(f"{folder}/a.db").execute(TRIALS).fetchall()
    times = [us if status == "ok" else 0 for _, status, us, _ in trials]
    best = min(us for us in times if us > 0)
    return [f"# {size} {layout} best {best:.3f}"] + [f"{trial[0]} {us:.3f} {trial[3]}"
                                                     for trial, us in zip(trials, times)]


def collect(program, seconds, count, path, seed=None):
    gpus = len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout.splitlines())
    share = os.cpu_count() // gpus
    left, lock = problems(count, seed), threading.Lock()

    def work(gpu):
        while True:
            with lock:
                if not left:
                    return
                problem = left.pop(0)
            lines = search(program, seconds, gpu, f"{gpu * share}-{(gpu + 1) * share - 1}", problem)
            with lock, open(path, "a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            print(*lines[0].split()[1:], f"{len(lines) - 1} trials", flush=True)

    threads = [threading.Thread(target=work, args=(gpu,)) for gpu in range(gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read(path):
    """The times of each problem's trials."""
    searches = {}
    for line in subprocess.run(["zstd", "-dcf", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words[0] == "#":
            times = searches.setdefault((words[1], words[2]), [])
        else:
            times.append(float(words[1]))
    return searches


def end(times, patience):
    """The trials and the best time where a search ends at GOAL, or None."""
    fastest, gained, since_gain, floor = [], math.inf, 0, 0
    for trials, time in enumerate(times, 1):
        if time == 0:
            continue
        bisect.insort(fastest, time)
        best = fastest[0]
        since_gain += 1
        if best < (1 - LEAST_GAIN) * gained:
            gained, since_gain = best, 0
        if floor > best:
            floor = 0
        if len(fastest) < FEWEST:
            continue
        span = 1 - best / fastest[(len(fastest) - 1) * 9 // 10]
        floor = max(floor, best * (1 - span * math.exp(-since_gain * len(fastest) / trials / patience)))
        if floor / best >= GOAL:
            return trials, best
    return None


def with_winners():
    """The problems of which a winner ships."""
    lines = WINNERS.read_text(encoding="utf-8").splitlines()
    words = [json.loads(line)["problem"].split() for line in lines]
    return {("x".join(word.split("=")[1] for word in of_one[1:4]), of_one[5].split("=")[1])
            for of_one in words if "math=strict" in of_one}


def judge(paths, others):
    files = {path: read(path) for path in paths + others}
    best = {}
    for problem, times in (item for file in files.values() for item in file.items()):
        best[problem] = min([time for time in times if time > 0] + [best.get(problem, math.inf)])
    judged = [(problem, times) for path in paths for problem, times in files[path].items()]
    shipped = with_winners()

    def kind(problem):
        m, n, _ = map(int, problem[0].split("x"))
        if problem in shipped:
            return "with a winner"
        return "others, many results" if m * n >= MANY_RESULTS * SMS else "others, few results"

    print("problems              patience  searches  ended  after (median)  right  least share")
    for name in ("with a winner", "others, many results", "others, few results"):
        of_kind = [(problem, times) for problem, times in judged if kind(problem) == name]
        for patience in PATIENCES:
            ends = [(e[0], best[problem] / e[1]) for problem, times in of_kind if (e := end(times, patience))]
            shares = [share for _, share in ends]
            after = statistics.median(trials for trials, _ in ends) if ends else 0
            print(f"{name:20}  {patience:8}  {len(of_kind):8}  {len(ends):5}  {after:14.0f}  "
                  f"{sum(share >= GOAL for share in shares):5}  {min(shares, default=1):11.3f}")

    print("\nmean share of the best in % after " + ", ".join(map(str, AFTER)) + " trials")
    for path, file in files.items():
        long = {problem: times for problem, times in file.items() if len(times) >= AFTER[-1]}
        means = [100 * statistics.mean(best[problem] / min(time for time in times[:n] if time > 0)
                                       for problem, times in long.items()) for n in AFTER]
        print(f"{os.path.basename(path)}, {len(long)} problems  " + "  ".join(f"{mean:.1f}" for mean in means))


if __name__ == "__main__":
    if len(sys.argv) in (6, 7) and sys.argv[1] == "collect":
        collect(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5], *sys.argv[6:])
    elif len(sys.argv) > 2 and sys.argv[1] == "judge":
        by = sys.argv.index("--by") if "--by" in sys.argv else len(sys.argv)
        judge(sys.argv[2:by], sys.argv[by + 1:])
    else:
        sys.exit(__doc__)
