"""Products of FP16 and BF16 on the CPU device, by arrays of this test's own and those of libraries that are there."""

import importlib
import os
import unittest

import arrays
from arrays import Array, Bf16, ByDlpack, ByNewDlpack, Fp16

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

M, N, K = 3, 4, 5
SIZE = (M, N, K)


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


jax, ml_dtypes, numpy, torch = map(module, ("jax", "ml_dtypes", "numpy", "torch"))


def filled(kind, rows, columns, seed, strides=None, size=None):
    numbers = [float((7 * i + seed) % 11 - 5) for i in range(size or rows * columns)]
    return kind((rows, columns), numbers, strides)


def operands(kind):
    """A, by columns which are K + 3 elements long, and B by rows which are two elements apart."""
    return filled(kind, M, K, 1, (1, M + 3), (M + 3) * K), filled(kind, K, N, 2, (N + 2, 1), (N + 2) * K)


def numbers_of(c):
    return [[c.at(i, j) for j in range(N)] for i in range(M)]


def expected(a, b, c=None, beta=0.0):
    return [[sum(a.at(i, k) * b.at(k, j) for k in range(K)) + (beta * c.at(i, j) if c else 0) for j in range(N)]
            for i in range(M)]


class OfItsOwn(unittest.TestCase):
    def test_every_type_of_operands_and_results(self):
        for kind in Fp16, Bf16:
            a, b = operands(kind)
            for result in kind, Array:
                with self.subTest(kind.__name__, result=result.__name__):
                    c = filled(result, M, N, 3, (1, M))
                    right = expected(a, b, c, -2)
                    autotune.gemm(a, b, c, beta=-2)
                    self.assertEqual(numbers_of(c), right)

    def test_a_result_is_rounded_once_to_its_type(self):
        # 257 takes 9 bits, and 1.5 + 2^-11 12: BF16 has 8, FP16 11.
        for kind, row, rounded, exact in ((Bf16, [128.0, 128.0, 1.0], 256.0, 257.0),
                                          (Fp16, [1.0, 0.5, 2.0**-11], 1.5, 1.5 + 2.0**-11)):
            a, b = kind((1, 3), row), kind((3, 1), [1.0] * 3)
            for out, right in (kind((1, 1)), rounded), (Array((1, 1)), exact):
                autotune.matmul(a, b, out)
                self.assertEqual(out.at(0, 0), right)

    def test_dlpack(self):
        for kind, code in (Fp16, 2), (Bf16, 4):
            a, b = operands(kind)
            out = Array((M, N))
            autotune.matmul(ByDlpack(a, code, 16), ByDlpack(b, code, 16), ByNewDlpack(out))
            self.assertEqual(numbers_of(out), expected(a, b))

    def test_a_plan_is_for_its_types(self):
        for kind, name in (Fp16, "f16"), (Bf16, "bf16"):
            a, b = operands(kind)
            plans = {result: autotune.plan(SIZE, layout="TN", type=name, out_type=out_type, device="cpu")
                     for result, out_type in ((kind, None), (Array, "f32"))}
            self.assertEqual(plans[kind].choice["type"], name)
            for result, plan in plans.items():
                c = result((M, N))
                plan(a, b, c)
                self.assertEqual(numbers_of(c), expected(a, b))
            with self.assertRaisesRegex(TypeError, f"have the types {name}: the plan is for {name}-f32"):
                plans[Array](a, b, kind((M, N)))
            with self.assertRaisesRegex(TypeError, f"have the types f32: the plan is for {name}"):
                plans[kind](*operands(Array), Array((M, N)))

    def test_batches_prepared_operands_and_a_result_beside_c(self):
        a, b = operands(Fp16)
        with autotune.prepare(a, n=N, math="strict") as left, autotune.prepare(b, m=M, math="strict") as right:
            c, d = filled(Array, M, N, 3), Array((M, N))
            autotune.gemm(left, right, c, d=d, beta=2)
            self.assertEqual(numbers_of(d), expected(a, b, c, 2))
        with self.assertRaisesRegex(ValueError, "math is 'emulated', which is for operands of FP32"):
            autotune.prepare(b, m=M, math="emulated")
        factors = Array((1,), [1.0]), Array((1,), [2.0])
        autotune.gemm(a, b, c, d=d, alpha=factors[0], beta=factors[1])
        self.assertEqual(numbers_of(d), expected(a, b, c, 2))
        many = Fp16((2, M, K), [a.at(i, k) for _ in range(2) for i in range(M) for k in range(K)])
        out = Array((2, M, N))
        autotune.matmul(many, b, out)
        self.assertEqual(list(out.memory), sum(expected(a, b) * 2, []))

    def test_results_of_a_type_are_those_of_its_searches(self):
        library = autotune.Library("cpu", database=storage.name + "/types.db")
        types = [{"type": "bf16", "out_type": "f32"}, {"type": "bfloat16"}, {"type": "float16"}, {}]
        names = ["bf16-f32", "bf16", "f16", "f32"]
        for searched in range(len(types)):
            self.assertEqual(library.tune([(20, 30, 10)], trials=2, **types[searched])["measured"], 2)
            answers = [library.query((20, 30, 10), **each) for each in types]
            self.assertEqual([answer["type"] for answer in answers], names)
            self.assertEqual([answer["match"] == "exact" for answer in answers],
                             [i <= searched for i in range(len(types))])
        library.warm_up((20, 30, 10), type="bf16", out_type="f32")


class OfLibraries(unittest.TestCase):
    """The result has the type of the operands, or that which is asked for."""

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_numpy(self):
        self.check_numpy(numpy.float16)

    @unittest.skipIf(ml_dtypes is None, "no ml_dtypes")
    def test_ml_dtypes(self):
        self.check_numpy(ml_dtypes.bfloat16)

    def check_numpy(self, dtype):
        whole = (numpy.arange(5 * 6) % 7 - 3).astype(dtype).reshape(5, 6)
        a, b = whole[:, 1:4], whole.T[2:5]
        exact = a.astype("float64") @ b.astype("float64")
        for product, of in ((autotune.matmul(a, b), dtype), (autotune.matmul(a, b, out_dtype="float32"), "float32"),
                            (autotune.matmul(a, b, out_dtype=numpy.float32), "float32"),
                            (autotune.matmul(a, b, out_dtype=dtype), dtype)):
            self.assertEqual(product.dtype, numpy.dtype(of))
            self.assertTrue((product.astype("float64") == exact).all())

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_pytorch(self):
        for dtype in torch.float16, torch.bfloat16:
            whole = (torch.arange(5 * 6) % 7 - 3).to(dtype).reshape(5, 6)
            a, b = whole[:, 1:4], whole.t()[2:5]
            exact = a.double() @ b.double()
            for product, of in ((autotune.matmul(a, b), dtype),
                                (autotune.matmul(a, b, out_dtype="float32"), torch.float32),
                                (autotune.matmul(a, b, out_dtype=torch.float32), torch.float32),
                                (autotune.matmul(a, b, out_dtype=dtype), dtype)):
                self.assertIs(product.dtype, of)
                self.assertTrue(torch.equal(product.double(), exact))
            out = torch.ones(5, 5)
            self.assertIs(autotune.matmul(a, b, out, beta=3), out)
            self.assertTrue(torch.equal(out.double(), exact + 3))
            with self.assertRaisesRegex(TypeError, "a is of (FP16|BF16) and b of FP32"):
                autotune.matmul(a, b.float())

    @unittest.skipIf(jax is None or numpy is None, "no JAX, or no NumPy")
    def test_jax(self):
        for dtype in jax.numpy.float16, jax.numpy.bfloat16:
            a = (jax.numpy.arange(12) % 5).astype(dtype).reshape(3, 4)
            out = numpy.empty((3, 3), "float32")
            autotune.matmul(a, a.T, out)
            self.assertTrue((out == numpy.asarray(a, "float32") @ numpy.asarray(a, "float32").T).all())


if __name__ == "__main__":
    unittest.main()
