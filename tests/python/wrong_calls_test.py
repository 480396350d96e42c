"""Wrong calls raise TypeError or ValueError, or Error for what is absent, and do nothing."""

import copy
import multiprocessing
import os
import pickle
import unittest
from fractions import Fraction

import arrays
from arrays import Array, Bf16, ByDlpack, ByNewDlpack, Fp16, OnGpu

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

A, B, OUT = (2, 4), (4, 3), (2, 3)
SIZE = (2, 3, 4)


def matmul(a=None, b=None, out=None, **others):
    autotune.matmul(Array(A) if a is None else a, Array(B) if b is None else b,
                    Array(OUT) if out is None else out, **others)


def gemm(**others):
    autotune.gemm(Array(A), Array(B), Array(OUT), **others)


def alias():
    memory = Array((4, 4))
    autotune.matmul(memory, Array((4, 4)), memory)


def tune(sizes=(SIZE,), **others):
    autotune.tune(sizes, **{"device": "cpu", **others})


def query(size=SIZE, **others):
    autotune.query(size, **{"device": "cpu", **others})


# The exception, a part of its message, the call.
WRONG_CALLS = [
    (TypeError, "a is int: it must be an array", lambda: matmul(a=3)),
    (TypeError, "b is list: it must be an array", lambda: matmul(b=[[1.0, 2.0]])),
    (TypeError, "out is str: it must be an array", lambda: matmul(out="out")),
    (TypeError, "missing 1 required positional argument", lambda: autotune.matmul(Array(A))),
    (TypeError, "a has elements of type <f8", lambda: matmul(a=Array(A, typestr="<f8"))),
    (TypeError, "b has elements of type >f4", lambda: matmul(b=Array(B, typestr=">f4"))),
    (TypeError, "out has elements of type <i4", lambda: matmul(out=Array(OUT, typestr="<i4"))),
    (TypeError, "type 0 with 32 bits", lambda: matmul(a=ByDlpack(Array(A), code=0))),
    (TypeError, "type 2 with 64 bits: they must be FP32, BF16 or FP16", lambda: matmul(a=ByDlpack(Array(A), bits=64))),
    (TypeError, "a has elements of type <V2", lambda: matmul(a=Array(A, typestr="<V2"))),
    (TypeError, "a is of FP32 and b of FP16: both must have the same type, so convert one of them",
     lambda: matmul(b=Fp16(B))),
    (TypeError, "out is of FP16, and a and b are of FP32: it must be of FP32", lambda: matmul(out=Fp16(OUT))),
    (TypeError, "out is of FP16, and a and b are of BF16: it must be of BF16 or FP32",
     lambda: matmul(Bf16(A), Bf16(B), Fp16(OUT))),
    (TypeError, "c is of FP32 and d of FP16: both must have the same type",
     lambda: autotune.gemm(Fp16(A), Fp16(B), Array(OUT), d=Fp16(OUT))),
    (TypeError, "alpha has elements of type <f2: they must be FP32", lambda: matmul(alpha=Fp16((1,)), beta=Fp16((1,)))),
    (TypeError, "out and out_dtype are given: leave one of them out", lambda: matmul(out_dtype="float32")),
    (ValueError, "out_dtype is 'float16': a product of operands of FP32 is of FP32",
     lambda: autotune.matmul(Array(A), Array(B), out_dtype="float16")),
    (ValueError, "math is 'tf32', which is for operands of FP32: leave it out for FP16",
     lambda: matmul(Fp16(A), Fp16(B), math="tf32")),
    (ValueError, "not at a multiple of 2 bytes", lambda: matmul(unaligned(Fp16), Fp16(B))),
    (ValueError, "type is 'f8': it must be one of 'float32' ('f32'), 'bfloat16' ('bf16'), 'float16' ('f16')",
     lambda: query(type="f8")),
    (TypeError, "type is 16: it must be one of", lambda: tune(type=16)),
    (ValueError, "out_type is 'f16': a product of operands of BF16 is of BF16 or FP32",
     lambda: query(type="bf16", out_type="f16")),
    (ValueError, "math is 'emulated', which is for operands of FP32", lambda: query(type="f16", math="emulated")),
    (TypeError, "a device of DLPack's type 7", lambda: matmul(b=ByDlpack(Array(B), device=(7, 0)))),
    (ValueError, "a has 1 dimensions", lambda: matmul(a=Array((8,)))),
    (ValueError, "b has 4 dimensions", lambda: matmul(b=Array((1, 2, 2, 3)))),
    (ValueError, "out has two dimensions: it must have 2 matrices in three dimensions",
     lambda: matmul(b=Array((2, 4, 3)))),
    (ValueError, "a has 2 matrices and b has 3",
     lambda: matmul(a=Array((2, 2, 4)), b=Array((3, 4, 3)), out=Array((2, 2, 3)))),
    (ValueError, "out has 3 matrices in three dimensions: it must have 2 matrices",
     lambda: matmul(a=Array((2, 2, 4)), out=Array((3, 2, 3)))),
    (TypeError, "batch is 2.5: it must be a whole number", lambda: query((2, 3, 4), batch=2.5)),
    (ValueError, "batch is 0: it must be from 1", lambda: query((2, 3, 4), batch=0)),
    (ValueError, "batch is a number of thousands", lambda: query((2, 3, 4), batch=10**5000)),
    (ValueError, "a is 2 x 4 and b is 5 x 3", lambda: matmul(b=Array((5, 3)))),
    (ValueError, "out is 3 x 2: it must be 2 x 3", lambda: matmul(out=Array((3, 2)))),
    (ValueError, "out is read-only", lambda: matmul(out=Array(OUT, read_only=True))),
    (ValueError, "a has strides of 8 and 2", lambda: matmul(a=Array(A, [0.0] * 16, (8, 2)))),
    (ValueError, "b has strides of 0 and 1", lambda: matmul(b=Array(B, strides=(0, 1)))),
    (ValueError, "a has strides of -4 and 1", lambda: matmul(a=Array(A, strides=(-4, 1), first=4))),
    (ValueError, "out has strides of 1 and 1", lambda: matmul(out=Array(OUT, strides=(1, 1)))),
    (ValueError, "not at a multiple of 4 bytes", lambda: matmul(a=unaligned())),
    (ValueError, "C overlaps", alias),
    (ValueError, "different devices", lambda: matmul(a=OnGpu(A))),
    (ValueError, "different devices", lambda: matmul(b=ByDlpack(Array(B), device=(2, 0)))),
    (ValueError, "beta is not 0", lambda: autotune.matmul(Array(A), Array(B), beta=1)),
    (TypeError, "cannot be made: give out", lambda: autotune.matmul(Array(A), Array(B))),
    (TypeError, "alpha is '1'", lambda: matmul(alpha="1")),
    (TypeError, "both must be numbers, or both arrays", lambda: matmul(alpha=1, beta=Array((1,)))),
    (ValueError, "alpha is of shape (1, 2): it must have one element",
     lambda: matmul(alpha=Array((1, 2)), beta=Array((1,)))),
    (ValueError, "beta is on the device None, and out on 'cpu'", lambda: matmul(alpha=Array((1,)), beta=OnGpu((1,)))),
    (ValueError, "d is 3 x 2: it must be 2 x 3", lambda: gemm(d=Array((3, 2)))),
    (ValueError, "d is read-only", lambda: gemm(d=Array(OUT, read_only=True))),
    (ValueError, "d lies by columns and c does not", lambda: gemm(d=Array(OUT, strides=(1, 2)))),
    (ValueError, "a, b, c and d are on different devices", lambda: gemm(d=OnGpu(OUT))),
    (ValueError, "beta is not 0", lambda: autotune.matmul(Array(A), Array(B), alpha=Array((1,)), beta=Array((1,)))),
    (TypeError, "alpha is None", lambda: matmul(alpha=None)),
    (TypeError, "beta is 1j", lambda: matmul(beta=1j)),
    (TypeError, "beta is True", lambda: matmul(beta=True)),
    (TypeError, "stream is 'default'", lambda: matmul(stream="default")),
    (TypeError, "stream is -1", lambda: matmul(stream=-1)),
    (ValueError, "the CPU device has none", lambda: matmul(stream=64)),
    (ValueError, "stream is 18446744073709551616", lambda: matmul(stream=2**64)),
    (ValueError, "out is read-only", lambda: matmul(out=ByNewDlpack(Array(OUT), flags=1))),
    (ValueError, "out is read-only", lambda: matmul(out=ByNewDlpack(Array(OUT), flags=2))),
    (TypeError, "b has version 2 of DLPack", lambda: matmul(b=ByNewDlpack(Array(B), major=2))),
    (TypeError, "a has a mask", lambda: matmul(a=Masked(A))),
    (TypeError, "b has a mask", lambda: matmul(b=Masked(B))),
    (TypeError, "out has a mask", lambda: matmul(out=Masked(OUT))),
    (ValueError, "alpha is 1e+39: it must be within the range of FP32", lambda: matmul(alpha=1e39)),
    (ValueError, "beta is -3.5e+38: it must be within", lambda: matmul(beta=-3.5e38)),
    (ValueError, "beta is 10", lambda: matmul(beta=Fraction(10**400))),
    (ValueError, "alpha is a number of thousands of digits", lambda: matmul(alpha=10**5000)),
    (TypeError, "b has an array interface without shape", lambda: matmul(b=without_shape())),
    (TypeError, "a does not give its memory: a gradient is recorded", lambda: matmul(a=Recorded())),
    (ValueError, "math is 'fast'", lambda: matmul(math="fast")),
    (TypeError, "math is 1", lambda: matmul(math=1)),
    (TypeError, "size is 512", lambda: query(512)),
    (ValueError, "size is (1, 2)", lambda: query((1, 2))),
    (TypeError, "must be whole numbers", lambda: query((1.5, 2, 3))),
    (ValueError, "that is too large", lambda: query((2**64, 2, 3))),
    (ValueError, "that is too large", lambda: query((10**5000, 2, 3))),
    (ValueError, "m is -1: it must be from 0", lambda: query((-1, 2, 3))),
    (ValueError, "nothing to multiply", lambda: query((0, 2, 3))),
    (ValueError, "layout is 'NX'", lambda: query(layout="NX")),
    (TypeError, "layout is 1", lambda: query(layout=1)),
    (TypeError, "device is 'gpu'", lambda: query(device="gpu")),
    (TypeError, "device is 0.5", lambda: query(device=0.5)),
    (ValueError, "device is -1", lambda: query(device=-1)),
    (ValueError, "device is a number of thousands of digits", lambda: query(device=10**5000)),
    (autotune.Error, "", lambda: query(device=0)),
    (ValueError, "max_error is 1: it must be above 0 and below 1", lambda: query(max_error=1)),
    (ValueError, "max_error is 1", lambda: tune(max_error=2**2000)),
    (TypeError, "max_error is '1e-6'", lambda: query(max_error="1e-6")),
    (ValueError, "tune() was given no problem", lambda: tune([])),
    (TypeError, "size is 7", lambda: tune([7])),
    (TypeError, "seconds is '5'", lambda: tune(seconds="5")),
    (ValueError, "seconds is 0", lambda: tune(seconds=0)),
    (ValueError, "seconds is nan: it must be above 0", lambda: tune(seconds=float("nan"))),
    (ValueError, "seconds is inf: it must be above 0 and at most 1e+09", lambda: tune(seconds=float("inf"))),
    (ValueError, "seconds is 10000000000", lambda: tune(seconds=10**400)),
    (TypeError, "seconds is True", lambda: tune(seconds=True)),
    (TypeError, "trials is 2.5", lambda: tune(trials=2.5)),
    (ValueError, "trials is -1", lambda: tune(trials=-1)),
    (ValueError, "trials is 9223372036854775808: it must be from 1 to", lambda: tune(trials=2**63)),
    (ValueError, "trials is 1180591620717411303424", lambda: tune(trials=2**70)),
    (TypeError, "progress is 3", lambda: tune(progress=3)),
]


def unaligned(kind=Array):
    matrix = kind(A)
    address, read_only = matrix.interface["data"]
    matrix.interface["data"] = (address + 1, read_only)
    return matrix


def without_shape():
    matrix = Array(B)
    del matrix.interface["shape"]
    return matrix


class Masked(Array):
    """Like NumPy's masked arrays, whose interface has no mask."""

    mask = Array((2, 2))


class Recorded:
    """Like PyTorch's arrays while it records a gradient."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("a gradient is recorded")


def raise_error(_):
    autotune.query(SIZE, device=0)


class WrongCalls(unittest.TestCase):
    def test_table(self):
        self.assertGreaterEqual(len(WRONG_CALLS), 40)
        for exception, message, call in WRONG_CALLS:
            with self.subTest(message):
                with self.assertRaises(exception) as raised:
                    call()
                self.assertIn(message, str(raised.exception))

    def test_an_error_has_the_codes_of_the_c_api(self):
        with self.assertRaises(autotune.Error) as raised:
            autotune.query(SIZE, device=0)
        self.assertEqual((raised.exception.status, raised.exception.cuda_result), (2, 0))
        for again in (pickle.loads(pickle.dumps(raised.exception)), copy.copy(raised.exception)):
            self.assertIs(type(again), autotune.Error)
            self.assertEqual((str(again), again.status), (str(raised.exception), 2))

    def test_a_process_of_a_pool_hands_an_error_on(self):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            with self.assertRaises(autotune.Error):
                pool.map_async(raise_error, [0]).get(timeout=60)

    def test_infinite_factors_are_taken(self):
        out = Array(OUT)
        matmul(Array(A, [1.0] * 8), Array(B, [1.0] * 12), out, alpha=float("-inf"), beta=float("nan"))
        self.assertTrue(all(value != value for value in out.memory))
        matmul(Array(A, [1.0] * 8), Array(B, [1.0] * 12), out, alpha=3.4028235e38)
        self.assertEqual(out.memory[0], float("inf"))


if __name__ == "__main__":
    unittest.main()
