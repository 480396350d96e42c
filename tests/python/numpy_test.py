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


if __name__ == "__main__":
    if numpy is None:
        print("SKIPPED: no NumPy")
        sys.exit()
    unittest.main()
