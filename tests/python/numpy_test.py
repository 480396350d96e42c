"""Products of NumPy's arrays, on the CPU device."""

import os
import sys
import unittest

import arrays

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

try:
    import numpy
except ImportError:
    numpy = None

M, N, K = 3, 4, 5


class OfNumpy(unittest.TestCase):
    def test_matrices_and_batches(self):
        a = numpy.arange(M * K, dtype="float32").reshape(M, K)
        b = numpy.arange(K * N, dtype="float32").reshape(N, K).T
        self.assertTrue((autotune.matmul(a, b) == a @ b).all())
        batch = numpy.arange(2 * M * K, dtype="float32").reshape(2, K, M).transpose(0, 2, 1)
        self.assertTrue((autotune.matmul(batch, b) == batch @ b).all())

    def test_masked_arrays(self):
        masked = numpy.ma.masked_values(numpy.array([[1, 9], [2, 3]], "float32"), 9)
        plain = numpy.ones((2, 2), "float32")
        for name, call in (("a", lambda: autotune.matmul(masked, plain)),
                           ("b", lambda: autotune.matmul(plain, masked)),
                           ("out", lambda: autotune.matmul(plain, plain, masked))):
            with self.assertRaisesRegex(TypeError, name + " has a mask"):
                call()
        nothing_masked = numpy.ma.array(plain)
        self.assertTrue((autotune.matmul(nothing_masked, plain) == 2).all())

    def test_a_factor_of_more_digits_than_fp64(self):
        plain = numpy.ones((2, 2), "float32")
        with self.assertRaisesRegex(ValueError, "alpha is 1e\\+400"):
            autotune.matmul(plain, plain, alpha=numpy.longdouble("1e400"))


if __name__ == "__main__":
    if numpy is None:
        print("SKIPPED: no NumPy")
        sys.exit()
    unittest.main()
