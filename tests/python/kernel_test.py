"""Kernels of one's own on NumPy's arrays, on the CPU device."""

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

SAXPY = """
#pragma kernel tune(BLOCK = 32, 64) typename(T = float) tuning_key("saxpy_", T)
#pragma kernel problem_size(n) block_size(BLOCK) buffers(x[n], y[n]) inout(y) scalar(a = 2.0)
template <typename T>
__global__ void saxpy(T a, const T* x, T* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""
WIDEN = """
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) size(radius)
#pragma kernel buffers(x[n], y[2 * n]) define(RADIUS = radius)
__global__ void widen(const int* x, int* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[2 * i] = y[2 * i + 1] = x[i] * RADIUS;
}
"""


def saxpy(**options):
    return autotune.Kernel("saxpy.cu", text=SAXPY, **options)


class OwnKernels(unittest.TestCase):
    def test_a_kernel_is_tuned_queried_and_launched(self):
        kernel = saxpy()
        self.assertEqual(kernel.query(device="cpu", n=100)["match"], "predicted")
        done = kernel.tune(device="cpu", n=100)
        self.assertEqual((done["measured"], done["tuned"], done["complete"]), (2, 1, True))
        choice = kernel.query(device="cpu", n=100)
        self.assertEqual((choice["match"], choice["kernel"]), ("exact", "saxpy_float"))
        self.assertIn(choice["configuration"]["BLOCK"], (32, 64))
        self.assertGreater(choice["median_us"], 0)
        x, y = numpy.arange(100, dtype="float32"), numpy.ones(100, "float32")
        kernel.launch(3.0, x, y, 100)
        self.assertTrue((y == 1 + 3 * x).all())
        kernel.launch(numpy.float32(2), x, y, numpy.int64(100))
        self.assertTrue((y == 1 + 5 * x).all())

    def test_template_arguments_choose_the_type(self):
        x, y = numpy.arange(10.0), numpy.ones(10)
        saxpy(template_arguments=["double"]).launch(3, x, y, 10)
        self.assertTrue((y == 1 + 3 * x).all())

    def test_sizes_that_are_no_arguments_are_given_by_name(self):
        widen = autotune.Kernel("widen.cu", text=WIDEN)
        x, y = numpy.arange(5, dtype="int32"), numpy.zeros(10, "int32")
        widen.launch(x, y, 5, radius=3)
        self.assertEqual(y.tolist(), [0, 0, 3, 3, 6, 6, 9, 9, 12, 12])
        with self.assertRaisesRegex(ValueError, "size 'radius' is missing"):
            widen.launch(x, y, 5)

    def test_wrong_arguments_are_refused(self):
        kernel = saxpy()
        x, y = numpy.ones(10, "float32"), numpy.ones(10, "float32")
        fixed = numpy.ones(10, "float32")
        fixed.flags.writeable = False
        for error, message, arguments in (
                (ValueError, "saxpy_float has 4 arguments, but 3 were given", (2.0, x, y)),
                (ValueError, "index is 4: saxpy_float has 4 arguments", (2.0, x, y, 10, 1)),
                (ValueError, "y has 10 elements: the kernel needs 11", (2.0, numpy.ones(11, "float32"), y, 11)),
                (ValueError, "x has gaps", (2.0, numpy.ones(20, "float32")[::2], y, 10)),
                (ValueError, "y is read-only", (2.0, x, fixed, 10)),
                (TypeError, "x has elements of type <f8: they must be FP32", (2.0, numpy.ones(10), y, 10)),
                (TypeError, "x is float", (2.0, 1.0, y, 10)),
                (TypeError, "n is 10.0", (2.0, x, y, 10.0)),
                (ValueError, "n is 0", (2.0, x, y, 0)),
                (TypeError, "a is '2'", ("2", x, y, 10))):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                kernel.launch(*arguments)
        self.assertTrue((y == 1).all())

    def test_sizes_may_have_the_names_of_arguments(self):
        widen = autotune.Kernel("widen.cu", text=WIDEN.replace("radius", "seed"))
        x, y = numpy.arange(5, dtype="int32"), numpy.zeros(10, "int32")
        widen.launch(x, y, 5, sizes={"seed": 2})
        self.assertEqual(y.tolist(), [0, 0, 2, 2, 4, 4, 6, 6, 8, 8])
        with self.assertRaisesRegex(ValueError, "n is 5 among the arguments, and 4 by its name"):
            widen.launch(x, y, 5, n=4, sizes={"seed": 2})

    def test_a_row_of_a_matrix_is_contiguous(self):
        x, y = numpy.ones((1, 10), "float32"), numpy.ones((2, 10), "float32")[:1]
        row = numpy.lib.stride_tricks.as_strided(y, (1, 10), (400, 4))
        saxpy().launch(3.0, x, row, 10)
        self.assertTrue((y == 4).all())

    def test_arrays_may_be_of_integers_of_any_size(self):
        text = ("#pragma kernel tune(B = 32, 64) problem_size(n) block_size(B) buffers(x[n], y[n])\n"
                "__global__ void widen(const unsigned char* x, long long* y, int n) {\n"
                "  const int i = blockIdx.x * B + threadIdx.x;\n  if (i < n) y[i] = x[i] + (1LL << 40);\n}\n")
        kernel = autotune.Kernel("widen.cu", text=text)
        x, y = numpy.arange(200, dtype="uint8"), numpy.zeros(200, "int64")
        kernel.launch(x, y, 200)
        self.assertTrue((y == x + numpy.int64(1 << 40)).all())
        with self.assertRaisesRegex(TypeError, "they must be integers of 64 bits"):
            kernel.launch(x, y.astype("int32"), 200)

    def test_a_wrong_description_has_its_place(self):
        with self.assertRaisesRegex(ValueError, "^wrong.cu:2:"):
            autotune.Kernel("wrong.cu", text=SAXPY.replace("tune(", "tuna(")).query(n=1)
        with self.assertRaisesRegex(ValueError, "nowhere.cu"):
            autotune.Kernel("nowhere.cu").query(n=1)
        for file, error in (("", TypeError), (None, TypeError)):
            with self.assertRaisesRegex(error, "file is"):
                autotune.Kernel(file)


if __name__ == "__main__":
    if numpy is None:
        print("SKIPPED: no NumPy")
        sys.exit()
    unittest.main()
