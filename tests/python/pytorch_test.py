"""Tensors as PyTorch's are, by a module that stands for it, and by PyTorch itself where it is there."""

import os
import sys
import types
import unittest
from unittest import mock

import arrays

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

try:
    import torch
except ImportError:
    torch = None


class Tensor(arrays.ByNewDlpack):
    def __init__(self, of, requires_grad=False, is_negated=False):
        super().__init__(of)
        self.requires_grad = requires_grad
        self.is_neg = lambda: is_negated
        self.version = [0]

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return super().__dlpack__(**options)

    def detach(self):
        detached = Tensor(self.of)
        detached.version = self.version
        return detached


class OfAStandIn(unittest.TestCase):
    def setUp(self):
        def increment_version(tensor):
            tensor.version[0] += 1

        self.records = False
        graph = types.SimpleNamespace(increment_version=increment_version)
        stand_in = types.SimpleNamespace(Tensor=Tensor, autograd=types.SimpleNamespace(graph=graph),
                                         is_grad_enabled=lambda: self.records)
        before = sys.modules.get("torch")
        self.addCleanup(lambda: sys.modules.pop("torch") if before is None
                        else sys.modules.update(torch=before))
        sys.modules["torch"] = stand_in
        self.a, self.out = arrays.Array((2, 2), [1.0, 2.0, 3.0, 4.0]), arrays.Array((2, 2))
        self.ones = arrays.Array((2, 2), [1.0] * 4)

    def test_parameters_where_no_gradient_is_recorded(self):
        out = Tensor(self.out, requires_grad=True)
        autotune.matmul(Tensor(self.a, requires_grad=True), Tensor(self.ones), out)
        self.assertEqual(list(self.out.memory), [3.0, 3.0, 7.0, 7.0])
        self.assertEqual(out.version, [1])

    def test_parameters_where_a_gradient_is_recorded(self):
        self.records = True
        with self.assertRaisesRegex(TypeError, "b does not give its memory: .* use tensor.detach"):
            autotune.matmul(Tensor(self.a), Tensor(self.ones, requires_grad=True), Tensor(self.out))

    def test_a_plain_tensor_on_a_gpu(self):
        torch = sys.modules["torch"]
        torch.float32, torch.bfloat16, torch.strided = object(), object(), object()
        streams = {1: 0, 2: 64}  # the default stream is 0
        torch.cuda = types.SimpleNamespace(
            current_stream=lambda device: types.SimpleNamespace(cuda_stream=streams[device.index]))
        for gpu, stream, dtype, elements in (1, None, torch.float32, "FP32"), (2, 64, torch.bfloat16, "BF16"):
            tensor = Tensor(self.a)
            vars(tensor).update(
                dtype=dtype, layout=torch.strided, is_cuda=True, shape=(2, 2), stride=lambda: (1, 2),
                device=types.SimpleNamespace(type="cuda", index=gpu), data_ptr=lambda: 4096)
            with mock.patch.object(Tensor, "__module__", "torch"):
                found = autotune.arrays.Matrix(tensor, "a")
            self.assertEqual((found.data, found.device, found.stream, found.by_rows), (4096, gpu, stream, False))
            self.assertEqual(found.elements.name, elements)

    def test_a_negated_view(self):
        with self.assertRaisesRegex(TypeError, "a is a negated view: give its resolve_neg"):
            autotune.matmul(Tensor(self.a, is_negated=True), Tensor(self.ones), Tensor(self.out))

    def test_a_fake_tensor_is_refused_by_name(self):
        fake = Tensor(self.a)
        fake.fake_mode = object()
        with self.assertRaisesRegex(TypeError, "a is a fake tensor"):
            autotune.matmul(fake, Tensor(self.ones), Tensor(self.out))


class OnlyDlpack:
    """A tensor of which no more is known than DLPack says."""

    def __init__(self, tensor):
        self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__


@unittest.skipIf(torch is None, "no PyTorch")
class OfPyTorch(unittest.TestCase):
    def test_parameters(self):
        a, parameter = torch.randn(3, 4), torch.nn.Parameter(torch.randn(4, 2))
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                self.assertTrue(torch.allclose(autotune.matmul(a, parameter), a @ parameter, atol=1e-5))
        with self.assertRaises(TypeError):
            autotune.matmul(a, parameter)

    def test_tensors_say_the_same_as_dlpack(self):
        def places(tensor):
            of = autotune.arrays.Matrix(tensor, "a")
            return of.data, of.device, of.stream, of.shape, of.strides, of.batch, of.batch_stride, of.read_only

        whole = torch.randn(5, 6, 7)
        for tensor in (whole, whole[1], whole[2].t(), whole[:, 1:3, 2:], whole[:1, 2, 3:], whole.transpose(1, 2)):
            self.assertEqual(places(tensor), places(OnlyDlpack(tensor)))

    def test_tensors_that_are_not_plain(self):
        plain = torch.ones(2, 2)
        for message, other in [
                ("a has elements of", plain.double()), ("a has elements of", plain.bool()),
                ("a is a negated view", torch.ones(2, 2, dtype=torch.complex64).conj().imag),
                ("a does not give its memory", plain.to_sparse()), ("a ", plain.to("meta"))]:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                autotune.matmul(other, plain)
        with self.assertRaisesRegex(TypeError, "a does not give its memory"):
            torch.vmap(lambda matrix: autotune.matmul(matrix, plain))(torch.ones(3, 2, 2))

    def test_a_gradient_that_needs_what_out_was(self):
        out = torch.ones(3, 2)
        loss = (torch.ones(3, 2, requires_grad=True) * out).sum()
        autotune.matmul(torch.ones(3, 4), torch.ones(4, 2), out)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()


if __name__ == "__main__":
    unittest.main()
