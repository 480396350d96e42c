#!/usr/bin/env python3
"""The documents print what the program prints. Every block of code that begins with "$ autotune" is
run, in an empty folder, and its lines must be lines of the output, in the same order; the documents
may leave lines out. A block whose output depends on the machine is marked: a comment above it,
<!-- kept: FILE -->, names the file below benchmarks/results that has these lines, and
<!-- not run: WHY --> leaves a block out. Blocks under <!-- slow --> take minutes, and run with --slow
alone.

usage: docs_commands_test.py PROGRAM [--slow]
"""
import difflib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```[a-z+]*\n(?P<text>.*?)^```$", re.M | re.S)
WIDTH = 100  # columns of a block

# NVRTC's registers and the sizes of compiled kernels are those of this version.
NVRTC = "NVRTC 13.0"
NEEDS_NVRTC = re.compile(r"autotune analyze .*(--arch|--device)|autotune export --bundle")


class Program:
    """The program with a database of its own, and without a GPU."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.has_nvrtc = NVRTC in subprocess.run([self.path, "--version"], capture_output=True, text=True,
                                                 check=True).stdout

    def lines(self, command):
        """The lines that a command prints in a folder with the tree's recordings and examples."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("tests", "examples"):
                os.symlink(ROOT / name, os.path.join(folder, name))
            known = {"PATH": os.environ["PATH"], "HOME": folder, "AUTOTUNE_DB": folder + "/a.db",
                     "AUTOTUNE_LIBCUDA": folder + "/no-driver"}
            known.update({name: value for name, value in os.environ.items() if name == "AUTOTUNE_NVRTC"})
            run = subprocess.run([self.path, *shlex.split(command)[1:]], cwd=folder, env=known,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return run.stdout.splitlines()


def missing_line(wanted, lines):
    """The first wanted line that does not come behind those before it; None where all do."""
    lines = iter(lines)
    return next((line for line in wanted if line and line not in lines), None)


def nearest(line, lines):
    return "".join(difflib.get_close_matches(line, lines, n=1, cutoff=0.5)) or "nothing like it"


def fault_of(block, mark, program):
    """What is wrong with a block; None where nothing is, or where it cannot be seen here."""
    command, *wanted = block.replace("\\\n", "").splitlines()
    command = command.removeprefix("$ ")
    if mark.startswith("kept: "):
        kept = RESULTS / mark.removeprefix("kept: ")
        if not kept.exists():
            return f"there is no {kept}"
        lines = kept.read_text(encoding="utf-8").splitlines()
    elif mark.startswith("not run: ") or (mark == "slow" and "--slow" not in sys.argv):
        return None
    elif NEEDS_NVRTC.search(command) and not program.has_nvrtc:
        return None
    else:
        lines = program.lines(command)
    line = missing_line(wanted, lines)
    return None if line is None else f"'{line}' is not printed there; {nearest(line, lines)}"


def sweep_faults(program):
    """The table of gemm_tiled's resources in the lesson, which has a row for each of these runs."""
    page = ROOT / "docs" / "tiled-gemm.md"
    keys = ["loads_per_phase", "operations_per_load", "shared_bytes", "registers", "blocks_per_sm"]
    for width in (16, 32):
        for results in (1, 4, 8, 16):
            printed = json.loads("".join(program.lines(
                f"autotune analyze --json --arch sm_90 --tile-width {width} --results-per-thread {results}")))
            figures = [f"{round(printed[key], 1):,}" for key in keys]
            least = min(count for count in printed["limits"].values() if count is not None)
            limits = ", ".join(name.removesuffix("_per_sm") for name, count in printed["limits"].items()
                               if count == least)
            row = re.compile(rf"^\| {width} \| {results} \(.*\) \| {re.escape(' | '.join(figures))} \| "
                             rf"{limits} \|$", re.M)
            if not row.search(page.read_text(encoding="utf-8")):
                yield f"docs/tiled-gemm.md: the row of {width} and {results} is not {figures}"


def main():
    program = Program(sys.argv[1])
    faults = []
    compared = 0
    for page in PAGES:
        for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
            block, mark = match["text"], match["mark"] or ""
            place = f"{page.relative_to(ROOT)}: {block.splitlines()[0]}"
            faults += [f"{page.relative_to(ROOT)}: wider than {WIDTH} columns: {line}"
                       for line in block.splitlines() if len(line) > WIDTH]
            if not block.startswith("$ "):
                continue
            if not block.startswith("$ autotune ") and not mark.startswith("kept: "):
                faults.append(f"{place}: no file of benchmarks/results is named above it")
                continue
            compared += 1
            fault = fault_of(block, mark, program)
            if fault is not None:
                faults.append(f"{place}: {fault}")
    if program.has_nvrtc:
        faults += sweep_faults(program)
    else:
        print(f"some blocks were left out: this is not {NVRTC}")
    print("\n".join(faults) or f"{compared} blocks are as the program prints them")
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
