#!/usr/bin/env python3
"""The program on a terminal of 60, 80 and 200 columns: what a user sees of its progress, of its tables
and of an interrupt.

usage: terminal_test.py PROGRAM
"""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import tempfile
import termios
import unittest

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
RECORDED = os.path.join(os.path.dirname(__file__), "../data/h200-gemm_simt.t4.json.zst")
WIDTHS = (60, 80, 200)
SMALL_SPACE = ["--device", "cpu", "--tile-width", "8", "--results-per-thread", "2"]
PHASE = re.compile(r"^(search|finals|run|sweep|bench|replay|compile) \[")

# Sentences are lines of any length, which a terminal wraps.
IS_PROSE = re.compile(r"its times say nothing about a GPU|configurations are valid")


class Screen:
    """What a terminal shows of the bytes that it was sent."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [[]]
        self.column = 0
        self.redrawn = []  # lines as they were when a carriage return began them anew
        self.wrapped = []  # redrawn lines that were wider than the terminal

    def show(self, text):
        for token in re.findall(r"\033\[[0-9;]*[A-Za-z]|\r\n|.|\n", text, flags=re.S):
            if token == "\r\n" or token == "\n":
                self.lines.append([])
                self.column = 0
            elif token == "\r":
                self.redraw()
            elif token == "\033[K":
                del self.lines[-1][self.column:]
            elif not token.startswith("\033"):
                self.put(token)
        return self

    def redraw(self):
        line = self.text(-1)
        if line:
            self.redrawn.append(line)
        if len(line) >= self.columns:
            self.wrapped.append(line)
        self.column = 0

    def put(self, character):
        line = self.lines[-1]
        if self.column < len(line):
            line[self.column] = character
        else:
            line.append(character)
        self.column += 1

    def text(self, index):
        return "".join(self.lines[index])

    def texts(self):
        return [self.text(i) for i in range(len(self.lines))]


class Run:
    """The program on a terminal, which is read until something is there."""

    def __init__(self, arguments, columns, folder, **environment):
        self.columns = columns
        self.output = ""
        self.at_end = False
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it in the background
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            known = {key: value for key, value in os.environ.items()
                     if key not in ("NO_COLOR", "COLUMNS", "TERM")}
            known.update(TERM="xterm", AUTOTUNE_DB=folder + "/a.db", XDG_CACHE_HOME=folder,
                         TMPDIR=folder, AUTOTUNE_LIBCUDA=folder + "/no-driver")
            known.update(environment)
            os.execve(PROGRAM, [PROGRAM, *arguments], known)

    def read(self):
        try:
            part = os.read(self.terminal, 65536)
        except OSError:  # the program has ended
            part = b""
        self.at_end = self.at_end or not part
        self.output += part.decode()

    def read_until(self, wanted):
        while not self.at_end and not re.search(wanted, self.output):
            self.read()
        return re.search(wanted, self.output) is not None

    def interrupt(self):
        os.write(self.terminal, b"\x03")

    def finish(self):
        while not self.at_end:
            self.read()
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def screen(self):
        return Screen(self.columns).show(self.output)


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def start(self, arguments, columns, **environment):
        return Run(arguments, columns, self.folder, **environment)

    def check_left(self, run):
        """Nothing of the progress line is left, and it was never wider than the terminal."""
        screen = run.screen()
        self.assertEqual(screen.wrapped, [])
        self.assertEqual([line for line in screen.texts() if PHASE.match(line)], [])
        return screen

    def test_a_search_shows_its_progress_and_takes_it_away(self):
        for columns in WIDTHS:
            with self.subTest(columns=columns):
                run = self.start(["--sizes", "33,40", *SMALL_SPACE, "--trials", "6", "--fresh"],
                                 columns)
                self.assertEqual(run.finish(), 0, run.output)
                screen = self.check_left(run)
                self.assertTrue(any(PHASE.match(line) for line in screen.redrawn), run.output)
                self.assertIn("6 measured, 0 known", run.output)

    def test_tables_fit(self):
        """Their last columns follow below each row where they do not fit; nothing is left out."""
        tune = ["--sizes", "33", *SMALL_SPACE, "--trials", "3"]
        self.assertEqual(self.start(tune, 80).finish(), 0)
        commands = [["query", "--device", "NVIDIA H200"], ["query", "--device", "cpu", "--top", "3"],
                    ["query", "--device", "NVIDIA H200", "--sizes", "3000", "--wide"],
                    ["run", "--sizes", "33", "--device", "cpu"], ["db", "list"], ["db", "top"],
                    ["templates", "--template", "gemm_tiled"]]
        for command in commands:
            whole = self.start(command, 1000)
            self.assertEqual(whole.finish(), 0, whole.output)
            for columns in WIDTHS:
                with self.subTest(columns=columns, command=command):
                    run = self.start(command, columns)
                    self.assertEqual(run.finish(), 0, run.output)
                    wide = [line for line in run.screen().texts() if len(line) > columns]
                    self.assertEqual([line for line in wide if not line.startswith("autotune: ")
                                      and not IS_PROSE.search(line)], [])
                    if command[0] in ("query", "db"):  # which print the same each time
                        self.assertEqual(re.sub(r"\s", "", run.output),
                                         re.sub(r"\s", "", whole.output))

    def test_help_fits(self):
        for columns in WIDTHS:
            for command in ("tune", "bench", "query", "report"):
                run = self.start([command, "--help"], columns)
                self.assertEqual(run.finish(), 0)
                text = run.output.replace("\r", "")
                self.assertLessEqual(max(map(len, text.split("\n"))), columns)

    def test_no_color(self):
        run = self.start(["--sizes", "33", *SMALL_SPACE, "--trials", "3"], 80, NO_COLOR="1")
        self.assertEqual(run.finish(), 0)
        screen = self.check_left(run)
        self.assertTrue(any(PHASE.match(line) for line in screen.redrawn), run.output)
        self.assertNotIn("\033[2m", run.output)
        self.assertNotIn("\033[0m", run.output)
        run = self.start(["--sizes", "34", *SMALL_SPACE, "--trials", "3"], 80, NO_COLOR="")
        self.assertEqual(run.finish(), 0)
        self.assertIn("\033[2m", run.output)

    def test_dumb_terminal(self):
        for terminal in ("dumb", ""):
            run = self.start(["--sizes", "33", *SMALL_SPACE, "--trials", "3", "--fresh"], 80,
                             TERM=terminal)
            self.assertEqual(run.finish(), 0)
            self.assertNotIn("\033", run.output)
            self.assertNotIn("\r", run.output.replace("\r\n", "\n"))

    def test_a_terminal_of_80_columns_has_the_whole_progress(self):
        run = self.start(["--sizes", "96", *SMALL_SPACE, "--budget", "3s"], 80)
        self.assertEqual(run.finish(), 0, run.output)
        self.assertRegex(run.output, r"search \[[#.]{24}\]  [0-9]+ s left")

    def test_notes_end_between_words(self):
        run = self.start(["query", "--device", "no such device", "--sizes", "64"], 60)
        self.assertEqual(run.finish(), 4)
        lines = [line for line in run.screen().texts() if line]
        self.assertGreater(len(lines), 1)
        self.assertLessEqual(max(map(len, lines)), 60)
        whole = self.start(["query", "--device", "no such device", "--sizes", "64"], 1000)
        self.assertEqual(whole.finish(), 4)
        self.assertEqual(" ".join(lines), whole.screen().texts()[0])

    def test_an_interrupt_during_a_search_keeps_what_there_is(self):
        for columns in WIDTHS:
            with self.subTest(columns=columns):
                run = self.start(["--sizes", "96", "--device", "cpu", "--budget", "1h", "--fresh"],
                                 columns)
                self.assertTrue(run.read_until(r"search \[[^\r]* GFLOP/s"), run.output)
                run.interrupt()
                self.assertEqual(run.finish(), 130, run.output)
                screen = self.check_left(run)
                self.assertIn("autotune: interrupted: these are the results so far", screen.texts())
                self.assertIn("stored in ", run.output)
                self.assertNotIn("^C", "".join(screen.texts()))

    def test_an_interrupt_before_the_first_result(self):
        run = self.start(["--sizes", "96", "--device", "cpu", "--budget", "1h"], 80)
        self.assertTrue(run.read_until(r"search \["), run.output)
        run.interrupt()
        self.assertEqual(run.finish(), 130, run.output)
        screen = self.check_left(run)
        self.assertTrue(any(line.startswith("autotune: interrupted: ") for line in screen.texts()))

    def test_an_interrupt_of_the_other_commands(self):
        sizes = ",".join(str(size) for size in range(33, 500))
        measured = ["--sizes", sizes, "--device", "cpu"]
        bundle = os.path.join(self.folder, "app.bundle")
        for command, phase in (
                (["run", *measured], "run"), (["sweep", *measured], "sweep"),
                (["bench", *measured, "--against", "gemm_simt"], "bench"),
                (["replay", RECORDED, "--repeats", "10000"], "replay"),
                (["export", "--bundle", bundle, "--arch", "sm_90", "--sizes", sizes], "compile")):
            with self.subTest(command=command[0]):
                run = self.start(command, 60)
                self.assertTrue(run.read_until(phase + r" \["), run.output)
                run.interrupt()
                self.assertEqual(run.finish(), 130, run.output)
                screen = self.check_left(run)
                self.assertTrue(any(re.match("autotune: interrupted: [0-9]+ of [0-9]+ ", line)
                                    for line in screen.texts()), screen.texts())


if __name__ == "__main__":
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print(f"SKIPPED: there are no pseudo-terminals here: {error}")
        sys.exit()
    unittest.main(argv=sys.argv[:1])
