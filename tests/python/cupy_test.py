"""Products of CuPy's arrays, on its current stream and on another one. Needs a GPU and CuPy."""

import sys
import unittest

import arrays

storage = arrays.use_temporary_storage()

import autotune  # noqa: E402: it must see the storage

try:
    import cupy
    HAS_GPU = cupy.cuda.is_available()
except ImportError:
    HAS_GPU = False


class OfCupy(unittest.TestCase):
    def test_matrices_and_streams(self):
        a = cupy.random.standard_normal((300, 400)).astype("float32")
        b = cupy.random.standard_normal((400, 500)).astype("float32")
        exact = a.astype("float64") @ b.astype("float64")
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        for product in autotune.matmul(a, b), autotune.matmul(a, b, stream=stream):
            stream.synchronize()
            self.assertLess(float(cupy.linalg.norm(product - exact) / cupy.linalg.norm(exact)), 1e-6)

    def test_fp16(self):
        a, b = (cupy.random.standard_normal(shape).astype("float16") for shape in ((300, 400), (400, 500)))
        exact = a.astype("float64") @ b.astype("float64")
        cupy.cuda.Device().synchronize()
        for product, of, most in ((autotune.matmul(a, b), "float16", 2**-11),
                                  (autotune.matmul(a, b, out_dtype="float32"), "float32", 1e-6)):
            cupy.cuda.Device().synchronize()
            self.assertEqual(product.dtype, of)
            self.assertLess(float(cupy.linalg.norm(product - exact) / cupy.linalg.norm(exact)), most)


if __name__ == "__main__":
    if not HAS_GPU:
        print("SKIPPED: no GPU, or no CuPy")
        sys.exit()
    unittest.main()
