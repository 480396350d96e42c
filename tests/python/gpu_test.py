"""Products of arrays that are on a GPU: PyTorch's, and any by DLPack. Needs a GPU and PyTorch."""

import sys
import unittest

import arrays

storage = arrays.use_temporary_storage()

import autotune  # noqa: E402: it must see the storage

try:
    import torch
    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False


class ByDlpack:
    """An array that is known by DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class OnGpu(unittest.TestCase):
    def check(self, product, left, right):
        exact = left.double() @ right.double()
        self.assertLess(float((product - exact).norm() / exact.norm()), 1e-6)

    def random(self, *shape):
        return torch.randn(*shape, device="cuda")

    def test_matrices_in_any_layout_and_batches(self):
        a, b = self.random(333, 1001), self.random(1001, 777)
        columns = self.random(1001, 333).t()
        self.check(autotune.matmul(a, b), a, b)
        self.check(autotune.matmul(columns, b), columns, b)
        self.check(autotune.matmul(columns, b, self.random(777, 333).t()), columns, b)
        self.check(autotune.matmul(a[5:, 7:], b[7:]), a[5:, 7:], b[7:])
        many = self.random(5, 64, 1001)
        self.check(autotune.matmul(many, b), many, b)

    def test_sixteen_bits(self):
        for dtype, roundoff in (torch.float16, 2**-11), (torch.bfloat16, 2**-8):
            for columns in 776, 777:  # rows of b that are multiples of 16 bytes, and others
                a, b = self.random(333, 1000).to(dtype), self.random(1000, columns).to(dtype)
                exact = a.double() @ b.double()
                for product, of, most in ((autotune.matmul(a, b), dtype, roundoff),
                                          (autotune.matmul(a, b, out_dtype=torch.float32), torch.float32, 1e-6)):
                    self.assertIs(product.dtype, of)
                    self.assertLess(float((product.double() - exact).norm() / exact.norm()), most)

    def test_factors_in_memory_and_a_result_beside_c(self):
        a, b, c = self.random(333, 1001), self.random(1001, 777), self.random(333, 777)
        before, d, factors = c.clone(), torch.empty_like(c), torch.tensor([2.0, -0.5], device="cuda")
        autotune.gemm(a, b, c, d=d, alpha=factors[0], beta=factors[1:])
        exact = 2 * (a.double() @ b.double()) - 0.5 * c.double()
        self.assertLess(float((d - exact).norm() / exact.norm()), 1e-6)
        self.assertTrue(torch.equal(c, before))

    def test_the_stream_that_pytorch_works_on(self):
        a, b = self.random(512, 512), self.random(512, 512)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            a.copy_(self.random(512, 512))
            product = autotune.matmul(a, b)
        torch.cuda.current_stream().wait_stream(stream)
        self.check(product, a, b)

    def test_dlpack(self):
        a, b, out = self.random(64, 96), self.random(96, 32), self.random(64, 32)
        autotune.matmul(ByDlpack(a), ByDlpack(b), ByDlpack(out))
        self.check(out, a, b)

    def test_prepared_operands(self):
        b = self.random(1030, 1100)
        a, taller = self.random(1500, 1030), self.random(3000, 1030)
        for math in "emulated", "tf32":
            with autotune.prepare(b, m=1500, math=math) as weights, \
                    autotune.prepare(a, n=1100, math=math) as inputs:
                expected = autotune.matmul(a, b, math=math)
                for product in (autotune.matmul(a, weights, math=math),
                                autotune.matmul(inputs, weights, math=math),
                                autotune.matmul(inputs, b, math=math),
                                autotune.matmul(a, weights, self.random(1100, 1500).t(), math=math)):
                    self.assertEqual(product.shape, expected.shape)
                    error = float((product - expected).norm() / expected.norm())
                    self.assertLess(error, 1e-6 if math == "emulated" else 1e-3)
                self.assertTrue(torch.equal(autotune.matmul(inputs, weights, math=math), expected))
                self.assertTrue(torch.equal(autotune.matmul(taller, weights, math=math),
                                            autotune.matmul(taller, b, math=math)))
                torch.cuda.synchronize()  # before the memory is freed
            with self.assertRaises(ValueError):
                autotune.matmul(a, weights, math=math)

    def test_a_gradient_that_is_recorded_is_a_type_error(self):
        a = self.random(8, 8).requires_grad_()
        with self.assertRaises(TypeError) as raised:
            autotune.matmul(a, a)
        self.assertIn("a does not give its memory: ", str(raised.exception))


if __name__ == "__main__":
    if not HAS_GPU:
        print("SKIPPED: no GPU, or no PyTorch")
        sys.exit()
    unittest.main()
