#!/usr/bin/env python3
"""Kills tuning runs at random moments and checks that nothing that was stored is lost.

usage: kill_storm.py PROGRAM [--kills N] [--longest 1.5] [--sizes 1024,2048] [--round-trials 600] [--seed 1] [options of tune]

Each round starts `PROGRAM tune --fresh --trials 600` on one database and sends SIGKILL, after a
random time, either to the program or to one of its workers; a run that ended before does not count.
After each round: no process of it is
left, every trial that was stored before is stored still, integrity_check passes. At last a run that
is left alone has to end well with the winners of one that never was disturbed, or with declared
ties of them, and a further one has to measure nothing.

Without --kills there are AUTOTUNE_TEST_KILLS of them, or 20.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it ended
    return found


def descendants(pid):
    return [one for child in children(pid) for one in (child, *descendants(child))]


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


def answer(command, environment):
    """The document of a run that nobody disturbs."""
    run = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, timeout=600)
    if run.returncode == 3:
        print(f"SKIPPED: {run.stderr}")
        sys.exit(0)
    if run.returncode != 0:
        sys.exit(f"kill_storm: an undisturbed run ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def agree(one, other):
    """Whether each has the other's winner, be it as a tie."""
    names = lambda result: [result["configuration"], *result["ties"]]
    return one["configuration"] in names(other) or other["configuration"] in names(one)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=int(os.environ.get("AUTOTUNE_TEST_KILLS", 20)))
    parser.add_argument("--longest", type=float, default=1.5, help="seconds until the kill, at most")
    parser.add_argument("--sizes", default="1024,2048")
    parser.add_argument("--round-trials", default="600", help="of a round that nobody ends")
    parser.add_argument("--seed", type=int, default=1)
    arguments, further = parser.parse_known_args()
    rng = random.Random(arguments.seed)

    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, AUTOTUNE_DB=f"{folder}/db", XDG_CACHE_HOME=f"{folder}/cache")
        command = [arguments.program, "tune", "--sizes", arguments.sizes, *further]
        undisturbed = answer(command, dict(environment, AUTOTUNE_DB=f"{folder}/undisturbed"))
        known = set()
        hits = {"program": 0, "worker": 0}
        longest = arguments.longest
        while sum(hits.values()) < arguments.kills:
            process = subprocess.Popen([*command, "--fresh", "--trials", arguments.round_trials], env=environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(rng.uniform(0.05, longest))
            workers = children(process.pid)
            processes = descendants(process.pid)
            victim = rng.choice(["program", "worker"]) if workers else "program"
            if process.poll() is not None:
                victim = None
                longest = max(0.1, 0.95 * longest)  # it ended before it could be killed
            elif victim == "program":
                process.kill()
            else:
                try:
                    os.kill(rng.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    victim = None  # it ended before it could be killed
            _, errors = process.communicate(timeout=600)
            if victim is not None:
                hits[victim] += 1
            if victim == "worker" and process.returncode != 0:
                sys.exit(f"kill_storm: a killed worker ended the program with {process.returncode}: {errors}")
            deadline = time.monotonic() + 10
            while any(map(is_running, processes)) and time.monotonic() < deadline:
                time.sleep(0.05)
            left = [*filter(is_running, processes)]
            if left:
                sys.exit(f"kill_storm: processes left behind: {left}")
            now = stored_trials(environment["AUTOTUNE_DB"])
            if not known <= now:
                sys.exit(f"kill_storm: {len(known - now)} stored trials were lost")
            known = now
            if victim is not None:
                print(f"kill {sum(hits.values())}: {victim}, {len(known)} trials stored", flush=True)
        last = answer(command, environment)
        for result, expected in zip(last["results"], undisturbed["results"], strict=True):
            if not agree(result, expected):
                sys.exit(f"kill_storm: another winner than that of an undisturbed run:\n{result}\n{expected}")
        again = answer(command, environment)
        if again["measured"] != 0 or not known <= stored_trials(environment["AUTOTUNE_DB"]):
            sys.exit(f"kill_storm: the run after it measured again, or trials were lost:\n{again}")
        print(f"kill_storm: passed ({hits})")


if __name__ == "__main__":
    main()
