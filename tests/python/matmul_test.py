"""Products, tuning and queries on the CPU device."""

import os
import threading
import time
import unittest
from unittest import mock

import arrays

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage

M, N, K = 3, 4, 5


def values(rows, columns, seed):
    return [float((7 * i + seed) % 11 - 5) for i in range(rows * columns)]


def by_rows(rows, columns, seed):
    return arrays.Array((rows, columns), values(rows, columns, seed))


def by_columns(rows, columns, seed):
    return arrays.Array((rows, columns), values(rows, columns, seed), strides=(1, rows))


def padded(rows, columns, seed):
    memory = values(rows, columns + 2, seed)
    return arrays.Array((rows, columns), memory, strides=(columns + 2, 1))


def product(a, b, row, column):
    return sum(a.at(row, i) * b.at(i, column) for i in range(a.shape[1]))


class Matmul(unittest.TestCase):
    def check(self, a, b, out, alpha=1.0, beta=0.0):
        before = [[out.at(i, j) for j in range(N)] for i in range(M)]
        expected = [[alpha * product(a, b, i, j) + (beta * before[i][j] if beta else 0)
                     for j in range(N)] for i in range(M)]
        self.assertIs(autotune.matmul(a, b, out, alpha=alpha, beta=beta), out)
        self.assertEqual([[out.at(i, j) for j in range(N)] for i in range(M)], expected)

    def test_every_layout_of_every_matrix(self):
        layouts = (by_rows, by_columns, padded)
        for of_a in layouts:
            for of_b in layouts:
                for of_out in layouts:
                    with self.subTest(a=of_a.__name__, b=of_b.__name__, out=of_out.__name__):
                        self.check(of_a(M, K, 1), of_b(K, N, 2), of_out(M, N, 3), 2.0, -1.0)

    def test_what_lies_between_the_rows_stays(self):
        out = padded(M, N, 3)
        before = list(out.memory)
        autotune.matmul(by_rows(M, K, 1), by_rows(K, N, 2), out)
        for row in range(M):
            gap = slice(row * (N + 2) + N, (row + 1) * (N + 2))
            self.assertEqual(list(out.memory[gap]), before[gap])

    def test_a_view_of_a_larger_matrix(self):
        whole = values(8, 8, 4)
        a = arrays.Array((M, K), whole, strides=(8, 1), first=9)
        self.check(a, by_rows(K, N, 2), by_rows(M, N, 3))

    def test_sides_of_one_and_of_none(self):
        row = arrays.Array((1, 3), [1.0, 2.0, 3.0], strides=(77, 1))
        column = arrays.Array((3, 1), [4.0, 5.0, 6.0], strides=(1, 55))
        out = arrays.Array((1, 1))
        autotune.matmul(row, column, out)
        self.assertEqual(out.memory[0], 32.0)
        autotune.matmul(arrays.Array((1, 0)), arrays.Array((0, 1)), out, beta=0.5)
        self.assertEqual(out.memory[0], 16.0)
        autotune.matmul(arrays.Array((0, 3)), column, arrays.Array((0, 1)))

    def test_factors_in_memory_and_a_result_beside_c(self):
        a, b = by_rows(M, K, 1), by_columns(K, N, 2)
        alpha, beta = arrays.Array((1,), [2.0]), arrays.Array((), [-0.5])
        plan = autotune.plan((M, N, K), layout="NT", device="cpu", scalars_in_memory=True)
        calls = {"gemm": lambda *matrices, **more: autotune.gemm(*matrices, alpha=alpha, beta=beta, **more),
                 "values": lambda *matrices, **more: autotune.gemm(*matrices, alpha=2, beta=-0.5, **more),
                 "plan": lambda *matrices, **more: plan(*matrices, alpha=alpha, beta=beta, **more)}
        for name, call in calls.items():
            with self.subTest(name):
                c, d = by_rows(M, N, 3), padded(M, N, 4)
                before = list(c.memory)
                expected = [[2 * product(a, b, i, j) - 0.5 * c.at(i, j) for j in range(N)] for i in range(M)]
                call(a, b, c, d=d)
                self.assertEqual([[d.at(i, j) for j in range(N)] for i in range(M)], expected)
                self.assertEqual(list(c.memory), before)
                call(a, b, c)
                self.assertEqual([[c.at(i, j) for j in range(N)] for i in range(M)], expected)
        with self.assertRaisesRegex(ValueError, "the plan was made for PointerMode::device"):
            plan(a, b, by_rows(M, N, 3))

    def test_a_row_of_a_matrix_by_columns_as_the_result_beside_c(self):
        a, b, c = by_rows(1, K, 1), by_rows(K, N, 2), by_rows(1, N, 3)
        d = arrays.Array((1, N), [0.0] * 2 * N, strides=(1, 2))
        autotune.gemm(a, b, c, d=d, beta=2)
        self.assertEqual([d.at(0, j) for j in range(N)], [product(a, b, 0, j) + 2 * c.at(0, j) for j in range(N)])

    def test_factors_count_among_the_arrays_of_a_product(self):
        matrices = [arrays.OnGpu((1, 1)) for _ in range(3)]
        factors = [arrays.OnGpu((1,)) for _ in range(2)]
        matrices[0].interface["stream"], factors[1].interface["stream"] = 5, 7
        of = autotune.arrays.Product(*matrices)
        of.factors(*factors)
        self.assertIs(of.memories[-1].keeps, factors[1])
        with self.assertRaisesRegex(ValueError, "the arrays name different streams"):
            autotune.arrays.stream_of(of.memories, None)

    def test_batches(self):
        of_a = [values(M, K, seed) for seed in range(3)]
        b = by_columns(K, N, 2)
        batch = arrays.Array((3, M, K), sum(of_a, []))
        gap = 5  # elements between the matrices of out
        out = arrays.Array((3, M, N), [7.0] * 3 * (M * N + gap), strides=(M * N + gap, N, 1))
        self.assertIs(autotune.matmul(batch, b, out), out)
        for i in range(3):
            first = i * (M * N + gap)
            expected = [product(arrays.Array((M, K), of_a[i]), b, row, column)
                        for row in range(M) for column in range(N)]
            self.assertEqual(list(out.memory[first:first + M * N]), expected)
            self.assertEqual(list(out.memory[first + M * N:first + M * N + gap]), [7.0] * gap)
        single = arrays.Array((1, K, N), [b.at(k, n) for k in range(K) for n in range(N)])
        again = arrays.Array((3, M, N))
        autotune.matmul(batch, single, again)
        self.assertEqual(list(again.memory[:M * N]), list(out.memory[:M * N]))
        none = arrays.Array((0, M, N))
        self.assertIs(autotune.matmul(arrays.Array((0, M, K)), b, none), none)

    def test_dlpack(self):
        a, b, out = by_rows(M, K, 1), by_columns(K, N, 2), by_rows(M, N, 3)
        for kind in (arrays.ByDlpack, arrays.ByNewDlpack):
            out.memory[11] = -1
            autotune.matmul(kind(a), kind(b), kind(out))
            self.assertEqual(out.at(2, 3), product(a, b, 2, 3))
        read_only = arrays.ByNewDlpack(a, flags=1)
        autotune.matmul(read_only, b, out)

    def test_tune_and_query(self):
        size = (20, 30, 10)
        self.assertNotEqual(autotune.query(size, device="cpu")["match"], "exact")
        calls = []
        done = autotune.tune([size], device="cpu", trials=3,
                             progress=lambda *progress: calls.append(progress))
        self.assertEqual((done["measured"], done["tuned"]), (3, 1))
        self.assertTrue(done["complete"] and done["stored"] and calls)
        answer = autotune.query(size, device="cpu")
        self.assertEqual((answer["match"], answer["tuned_for"]), ("exact", size))
        self.assertGreater(answer["median_us"], 0)
        self.assertIn("TILE_WIDTH", answer["configuration"])
        self.assertEqual(autotune.tune([size], device="cpu", trials=3)["known"], 3)
        self.assertEqual(autotune.tune([size], batch=2, device="cpu", trials=3)["measured"], 3)
        answer = autotune.query(size, batch=2, device="cpu")
        self.assertEqual((answer["match"], answer["tuned_for_batch"]), ("exact", 2))

    def test_a_limit_of_the_error(self):
        size, limit = (21, 30, 10), {"math": "tf32", "device": "cpu", "max_error": 1e-3}
        with self.assertRaisesRegex(autotune.Error, "nothing with an error of at most 0.001"):
            autotune.query(size, **limit)
        # The kernels of the CPU device compute strict products, and are searched and kept as such.
        self.assertEqual(autotune.tune([size], trials=3, **limit)["tuned"], 1)
        answer = autotune.query(size, **limit)
        self.assertEqual((answer["match"], answer["tuned_for_math"]), ("exact", "strict"))
        self.assertEqual(autotune.tune([size], trials=3, **limit)["known"], 3)

    def test_the_progress_function_ends_the_search(self):
        self.assertFalse(autotune.tune([(9, 9, 9)], device="cpu", trials=50,
                                       progress=lambda *_: False)["complete"])

        def interrupt(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            autotune.tune([(9, 9, 8)], device="cpu", trials=50, progress=interrupt)

    def test_a_forked_process_has_a_library_of_its_own(self):
        a, b, out = by_rows(M, K, 1), by_rows(K, N, 2), by_rows(M, N, 3)
        autotune.matmul(a, b, out)
        child = os.fork()
        if child == 0:
            out.memory[0] = -1
            autotune.matmul(a, b, out)
            os._exit(0 if out.at(0, 0) == product(a, b, 0, 0) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_threads_open_one_library_object(self):
        opened, queried, open_library = [], [], autotune._c_api.open_library

        def counting(*arguments):
            opened.append(arguments)
            time.sleep(0.2)  # for the others to come
            return open_library(*arguments)

        together, library = threading.Barrier(16), autotune.Library("cpu")

        def query():
            together.wait()
            queried.append(library.query((5, 6, 7))["match"])

        with mock.patch.object(autotune._c_api, "open_library", counting):
            threads = [threading.Thread(target=query) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual((len(opened), len(queried)), (1, 16))

    def test_version(self):
        self.assertEqual(len(autotune.version()), 3)


if __name__ == "__main__":
    unittest.main()
