#!/usr/bin/env python3
"""Kills tuning runs at random moments and checks that nothing that was stored is lost.

usage: kill_storm.py PROGRAM [--kills 20] [--longest 1.5] [--sizes 1024,2048] [--seed 1] [options of tune]

Each round starts `PROGRAM tune --fresh --trials 600` on one database and sends SIGKILL, after a
random time, either to the program or to one of its workers. After each round: no process of it is left, every trial that
was stored before is stored still, integrity_check passes. At last an undisturbed run has to end
well and a further one has to measure nothing.
"""

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            direct = [int(child) for child in file.read().split()]
    except OSError:
        return []
    threads = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                threads += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return sorted(set(direct + threads))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def stored_trials(database):
    if not os.path.exists(database):
        return set()
    connection = sqlite3.connect(database, timeout=30)
    try:
        # The first look recovers what a killed writer left behind, as the next run would.
        if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            sys.exit("kill_storm: integrity_check failed")
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        if "trial" not in names:
            return set()
        return {row[0] for row in connection.execute("SELECT id FROM trial")}
    finally:
        connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds until the kill, at most")
    parser.add_argument("--sizes", default="1024,2048")
    parser.add_argument("--seed", type=int, default=1)
    arguments, further = parser.parse_known_args()
    rng = random.Random(arguments.seed)

    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, AUTOTUNE_DB=f"{folder}/db", XDG_CACHE_HOME=f"{folder}/cache")
        command = [arguments.program, "tune", "--sizes", arguments.sizes, *further]
        known = set()
        hits = {"program": 0, "worker": 0, "ended before": 0}
        for kill in range(arguments.kills):
            process = subprocess.Popen([*command, "--fresh", "--trials", "600"], env=environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(rng.uniform(0.05, arguments.longest))
            workers = children(process.pid)
            victim = rng.choice(["program", "worker"]) if workers else "program"
            if process.poll() is not None:
                victim = "ended before"
            elif victim == "program":
                process.kill()
            else:
                os.kill(rng.choice(workers), signal.SIGKILL)
            _, errors = process.communicate(timeout=600)
            hits[victim] += 1
            if victim == "worker" and process.returncode != 0:
                sys.exit(f"kill_storm: a killed worker ended the program with {process.returncode}: {errors}")
            deadline = time.monotonic() + 10
            while any(is_running(worker) for worker in workers) and time.monotonic() < deadline:
                time.sleep(0.05)
            left = [worker for worker in workers if is_running(worker)]
            if left:
                sys.exit(f"kill_storm: processes left behind: {left}")
            now = stored_trials(environment["AUTOTUNE_DB"])
            if not known <= now:
                sys.exit(f"kill_storm: {len(known - now)} stored trials were lost")
            known = now
            print(f"kill {kill + 1}: {victim}, {len(known)} trials stored", flush=True)
        last = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        if last.returncode != 0:
            sys.exit(f"kill_storm: the undisturbed run ended with {last.returncode}: {last.stderr}")
        again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        if "0 measured" not in again.stdout:
            sys.exit(f"kill_storm: the run after it measured again:\n{again.stdout}")
        print(f"kill_storm: passed ({hits})")


if __name__ == "__main__":
    main()
