"""Tuning in the background, in processes of the program, on the CPU device."""

import os
import subprocess
import sys
import time
import unittest

import arrays
from arrays import Array

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

PROGRAM = os.environ["AUTOTUNE_PROGRAM"]


AT_EXIT = """
import sys
import time

import autotune
from arrays import Array

library = autotune.Library("cpu", miss="background", program=sys.argv[1], share=0.9, log=lambda *line: None)
library.matmul(Array((16, 15)), Array((15, 14)), Array((16, 14)))
time.sleep(0.3)
"""


def multiply():
    autotune.matmul(Array((6, 5)), Array((5, 4)), Array((6, 4)))


class Background(unittest.TestCase):
    def tearDown(self):
        autotune.stop_background()

    def test_what_is_multiplied_is_tuned(self):
        autotune.use_background(PROGRAM, share=0.9, seconds=1e6)
        multiply()
        while autotune.query((6, 4, 5), device="cpu")["match"] != "exact":
            pass
        autotune.stop_background()
        multiply()

    def test_a_library_tunes_what_it_multiplies(self):
        lines = []
        with autotune.Library("cpu", database=storage.name + "/own.db", miss="background", program=PROGRAM, share=0.9,
                              miss_seconds=1e6, log=lambda *line: lines.append(line)) as library:
            library.matmul(Array((6, 5)), Array((5, 4)), Array((6, 4)))
            while library.query((6, 4, 5))["match"] != "exact":
                time.sleep(0.01)
            library.stop_background()
        self.assertTrue(lines)

    def test_a_process_ends_while_it_is_tuned(self):
        done = subprocess.run([sys.executable, "-c", AT_EXIT, PROGRAM], capture_output=True, text=True, timeout=100,
                              check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong_calls(self):
        for wrong, kind, message in [
                ({"share": 0}, ValueError, "share is 0: it must be above 0 and at most 1"),
                ({"share": 1.5}, ValueError, "share is 1.5: it must be above 0 and at most 1"),
                ({"share": "5 %"}, TypeError, "share is '5 %': it must be a number"),
                ({"seconds": -1}, ValueError, "seconds is -1: it must be above 0 and at most 1e+09"),
        ]:
            with self.assertRaises(kind) as raised:
                autotune.use_background(PROGRAM, **wrong)
            self.assertEqual(str(raised.exception), message)
        with self.assertRaisesRegex(ValueError, "there is no program /nowhere/autotune"):
            autotune.use_background("/nowhere/autotune")
        multiply()
        path, os.environ["PATH"] = os.environ["PATH"], ""
        with self.assertRaisesRegex(ValueError, "there is no autotune in PATH"):
            autotune.use_background()
        os.environ["PATH"] = path


if __name__ == "__main__":
    unittest.main()
