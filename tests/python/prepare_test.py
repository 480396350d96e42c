"""Operands that are prepared once: on the CPU device, and with a driver that runs nothing."""

import copy
import ctypes
import gc
import os
import unittest

import arrays
from arrays import Array, OnGpu

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = os.environ["FAKE_CUDA_DRIVER"]
# Without the number of an SM's registers nothing is predicted, and the templates' defaults are taken.
os.environ["FAKE_CUDA"] = "attribute82=0"

import autotune  # noqa: E402: it must see the storage

driver = ctypes.CDLL(os.environ["FAKE_CUDA_DRIVER"])
driver.fake_cuda_take_calls.restype = ctypes.c_char_p
SIZE = 1024


def calls_of(work):
    """The driver's calls during some work, as a list, and what the work returned."""
    driver.fake_cuda_take_calls()
    result = work()
    return driver.fake_cuda_take_calls().decode().split(), result


def launches(a, b, out):
    calls, _ = calls_of(lambda: autotune.matmul(a, b, out, math="emulated"))
    return calls.count("cuLaunchKernelEx")


class Prepare(unittest.TestCase):
    def test_it_is_not_prepared_again_until_it_is_closed(self):
        a, b, out = OnGpu((SIZE, SIZE)), OnGpu((SIZE, SIZE)), OnGpu((SIZE, SIZE))
        try:
            calls, weights = calls_of(lambda: autotune.prepare(b, m=SIZE, math="emulated"))
        except autotune.Error as error:
            self.skipTest(str(error))
        self.assertEqual(calls.count("cuLaunchKernelEx"), 1)
        self.assertEqual(launches(a, b, out), 2)  # one prepares both operands
        self.assertEqual(launches(a, weights, out), 2)  # one prepares a
        with autotune.prepare(a, n=SIZE, math="emulated") as inputs:
            self.assertEqual(launches(inputs, weights, out), 1)
            # The library's A of a column-major product is b.
            self.assertEqual(launches(inputs, weights, OnGpu((SIZE, SIZE), strides=(1, SIZE))), 1)
        with self.assertRaisesRegex(ValueError, "a was closed"):
            autotune.matmul(inputs, weights, out, math="emulated")
        other = copy.copy(weights)
        self.assertIn("cuMemFree", calls_of(weights.close)[0])
        with self.assertRaisesRegex(ValueError, "b was closed"):
            autotune.matmul(a, other, out, math="emulated")
        self.assertEqual(calls_of(weights.close)[0], [])

    def test_memory_is_freed_with_the_object(self):
        b = OnGpu((SIZE, SIZE))
        try:
            weights = [autotune.prepare(b, m=SIZE, math="emulated")]
        except autotune.Error as error:
            self.skipTest(str(error))
        calls, _ = calls_of(lambda: (weights.clear(), gc.collect()))
        self.assertIn("cuMemFree", calls)

    def test_products_on_the_cpu_device(self):
        a, b = Array((2, 3), [1, 2, 3, 4, 5, 6]), Array((3, 2), [1, 0, 2, 1, 0, 3])
        with autotune.prepare(b, m=2, math="emulated") as right, \
                autotune.prepare(a, n=2, math="emulated") as left:
            out = Array((2, 2), [1] * 4)
            self.assertIs(autotune.matmul(left, right, out, alpha=2, beta=-1), out)
            self.assertEqual(list(out.memory), [9, 21, 27, 45])
            # In a batch it is used as the array is.
            batch = Array((2, 2, 3), [1, 2, 3, 4, 5, 6] * 2)
            self.assertEqual(list(autotune.matmul(batch, right, Array((2, 2, 2))).memory),
                             [5, 11, 14, 23] * 2)

    def test_wrong_calls(self):
        b = Array((4, 3))
        right = autotune.prepare(b, m=2, math="emulated")
        for error, message, call in [
            (TypeError, "math", lambda: autotune.prepare(b, m=2)),
            (TypeError, "give m", lambda: autotune.prepare(b, math="tf32")),
            (TypeError, "or n", lambda: autotune.prepare(b, m=2, n=2, math="tf32")),
            (TypeError, "m is 2.5: it must be a whole number",
             lambda: autotune.prepare(b, m=2.5, math="tf32")),
            (ValueError, "n is 0: it must be from 1", lambda: autotune.prepare(b, n=0, math="tf32")),
            (ValueError, "math is 'fast'", lambda: autotune.prepare(b, m=2, math="fast")),
            (TypeError, "array is list: it must be an array",
             lambda: autotune.prepare([[1.0]], m=2, math="tf32")),
            (ValueError, "array has 3 dimensions",
             lambda: autotune.prepare(Array((1, 4, 3)), m=2, math="tf32")),
            (ValueError, "nothing to multiply",
             lambda: autotune.prepare(Array((0, 3)), m=2, math="tf32")),
            (ValueError, "the CPU device has none",
             lambda: autotune.prepare(b, m=2, math="tf32", stream=64)),
            (ValueError, "A is not the matrix that was prepared",
             lambda: autotune.matmul(right, Array((3, 2)), Array((4, 2)))),
            (TypeError, "out is Prepared", lambda: autotune.matmul(Array((2, 4)), right, right)),
        ]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if result.skipped:
        print("SKIPPED:", result.skipped[0][1])
    raise SystemExit(not result.wasSuccessful())
