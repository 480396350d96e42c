"""Tuning in the background, in processes of the program, on the CPU device."""

import os
import unittest

import arrays
from arrays import Array

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

PROGRAM = os.environ["AUTOTUNE_PROGRAM"]


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
