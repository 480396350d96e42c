#!/usr/bin/env python3
"""The tutorial of docs/own-kernels.md works as it stands: its files are written and its commands are
run, in an empty folder on the CPU device; those that need nvcc or a GPU only where they are. Each of
examples/own_kernels is tuned there for a small size, of which the page has a section.

usage: own_kernels_docs_test.py PROGRAM
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "own-kernels.md"
EXAMPLES = ROOT / "examples" / "own_kernels"
MOST_LINES = 60  # of the tutorial's files and commands together
TRIALS = 6
SIZES = {"vector_add": "n=1001", "reduce": "n=3001", "transpose": "width=100,height=37",
         "matmul": "m=37,n=53,k=41", "convolution": "width=70,height=45,radius=2",
         "stencil": "width=70,height=45,steps=3", "softmax": "rows=13,columns=101", "nbody": "n=101",
         "histogram": "n=3001", "spmv": "n=301,entries=7"}


def tutorial():
    """The tutorial's files, by the name that the text before each gives it, and its commands."""
    text = re.search(r"^## From an empty file.*?(?=^## )", PAGE.read_text(encoding="utf-8"), re.M | re.S)[0]
    files, commands, begin = {}, [], 0
    for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if block[1] == "cuda":
            files[re.findall(r"`(\w+\.cu)`", text[begin:block.start()])[-1]] = block[2]
        else:
            commands += block[2].replace("\\\n", "").splitlines()
        begin = block.end()
    return files, commands


class Folder:
    """A folder with a database of its own, in which commands find the program as `autotune`."""

    def __init__(self, program, folder):
        os.symlink(os.path.abspath(program), os.path.join(folder, "autotune"))
        self.folder = folder
        self.environment = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": folder, "AUTOTUNE_DB": folder + "/a.db",
                            "PATH": folder + ":" + os.environ["PATH"]}

    def run(self, command):
        """The exit code and the output of a command of a shell."""
        run = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return run.returncode, run.stdout


def tutorial_faults(folder):
    files, commands = tutorial()
    if list(files) != ["saxpy.cu", "main.cu"] or len(commands) != 5:
        yield f"the tutorial has the files {list(files)} and {len(commands)} commands"
    lines = len(commands) + sum(len(text.splitlines()) for text in files.values())
    if lines >= MOST_LINES:
        yield f"the tutorial has {lines} lines"
    for name, text in files.items():
        (pathlib.Path(folder.folder) / name).write_text(text, encoding="utf-8")
    for command in commands:
        if command.startswith("nvcc") and shutil.which("nvcc") is None:
            print("nvcc is not here: the tutorial's program is not compiled")
            break
        if command == "./main" and subprocess.run("nvidia-smi", shell=True, capture_output=True, check=False).returncode:
            print("there is no GPU: the tutorial's program is not run")
            break
        code, output = folder.run(command)
        if code != 0:
            yield f"{command}: ends with exit code {code}: {output}"
        if command == "./main" and output != "5\n":
            yield f"{command}: prints {output}"


def example_faults(folder):
    page = PAGE.read_text(encoding="utf-8")
    if sorted(path.stem for path in EXAMPLES.glob("*.cu")) != sorted(SIZES):
        yield f"{EXAMPLES} has other files than the test"
    for name, size in SIZES.items():
        if page.count(f"(../examples/own_kernels/{name}.cu)") < 1:
            yield f"{name}: the page has no link to it"
        code, output = folder.run(f"autotune tune --kernel {EXAMPLES}/{name}.cu --size {size} --device cpu "
                                  f"--trials {TRIALS} --progress none")
        if code != 0 or f"{TRIALS} measured" not in output or "compile_failed" in output or "wrong_result" in output:
            yield f"{name}: exit code {code}: {output}"


def main():
    faults = []
    for test in (tutorial_faults, example_faults):
        with tempfile.TemporaryDirectory() as folder:
            faults += test(Folder(sys.argv[1], folder))
    print("\n".join(faults) or "the tutorial works, and all examples are tuned")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
