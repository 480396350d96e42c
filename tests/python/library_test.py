"""Several Library objects in one process, with devices, databases and rules of their own."""

import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import unittest
from unittest import mock

import arrays
from arrays import Array, OnGpu

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = os.environ["FAKE_CUDA_DRIVER"]

import autotune  # noqa: E402: it must see the storage

SIZE = (6, 4, 5)


def path(name):
    return pathlib.Path(storage.name) / name


def ones(library):
    """A product of SIZE on the CPU device, and the match of its kernel."""
    a, b, c = (Array(shape, [1.0] * shape[0] * shape[1]) for shape in ((6, 5), (5, 4), (6, 4)))
    return library.gemm(a, b, c, beta=2), list(c.memory)


def closed_operand(array):
    with autotune.prepare(array, m=6, math="strict") as prepared:
        return prepared


def closed(function):
    """The number of C library objects that are closed while a function runs."""
    c = autotune._c_api._c()
    with mock.patch.object(c, "autotune_close", side_effect=c.autotune_close) as close:
        function()
        gc.collect()
    return close.call_count


class Libraries(unittest.TestCase):
    def test_each_has_its_own_database(self):
        first = autotune.Library("cpu", database=path("first.db"))
        second = autotune.Library("cpu", database=path("second.db"))
        self.assertEqual(first.tune([SIZE], trials=3)["tuned"], 1)
        self.assertEqual([library.query(SIZE)["match"] for library in (first, second)], ["exact", "predicted"])
        self.assertEqual([ones(library) for library in (first, second)],
                         [("exact", [7.0] * 24), ("predicted", [7.0] * 24)])
        self.assertEqual(autotune.query(SIZE, device="cpu")["match"], "predicted")
        again = autotune.Library("cpu", database=os.fsencode(path("first.db")))
        self.assertEqual(again.query(SIZE)["match"], "exact")

    def test_a_database_is_that_of_the_folder_of_its_library(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(storage.name)
        library = autotune.Library("cpu", database="relative.db")
        os.chdir("/")
        library.tune([SIZE], trials=1)
        self.assertTrue(path("relative.db").exists())

    def test_each_has_its_own_device(self):
        cpu, gpu = autotune.Library("cpu"), autotune.Library(0)
        try:
            gpu.gemm(OnGpu((64, 32)), OnGpu((32, 48)), OnGpu((64, 48)))
        except autotune.Error as error:
            self.skipTest(str(error))
        self.assertEqual(ones(cpu)[1], [7.0] * 24)
        self.assertNotEqual(cpu.query(SIZE)["kernel"], gpu.query(SIZE)["kernel"])
        with self.assertRaisesRegex(ValueError, "device is 'cpu': this Library is for 0"):
            ones(gpu)
        with self.assertRaisesRegex(ValueError, "device is 0: this Library is for 'cpu'"):
            cpu.query(SIZE, device=0)
        either = autotune.Library()
        self.assertEqual(either.query(SIZE, device="cpu"), cpu.query(SIZE))
        self.assertEqual(either.query(SIZE)["kernel"], gpu.query(SIZE)["kernel"])

    def test_what_was_not_tuned_may_be_refused_or_tuned_first(self):
        with self.assertRaisesRegex(autotune.NotTunedError, "was not tuned") as raised:
            ones(autotune.Library("cpu", database=path("refused.db"), miss="refuse"))
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((type(again), again.status, str(again)), (autotune.NotTunedError, 4, str(raised.exception)))
        tuning = autotune.Library("cpu", database=path("missed.db"), miss="tune", miss_seconds=5)
        self.assertEqual(ones(tuning)[0], "exact")

    def test_a_database_that_cannot_be_used(self):
        path("garbage.db").write_bytes(b"garbage" * 1000)
        with self.assertRaisesRegex(autotune.StorageError, "garbage.db"):
            autotune.Library("cpu", database=path("garbage.db")).query(SIZE)

    def test_the_log_gets_lines_and_loses_no_signal(self):
        lines = []
        library = autotune.Library("cpu", database=path("log.db"), log=lambda *line: lines.append(line))
        ones(library)
        self.assertIn("info", {level for level, _ in lines})
        self.assertTrue(all(line and "\n" not in line for _, line in lines))

        class Unhashable(list):
            def __call__(self, *line):
                self.append(line)

        lines = Unhashable()
        ones(autotune.Library("cpu", database=path("log.db"), log=lines))
        self.assertTrue(lines)

        def interrupt(*_):
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            ones(autotune.Library("cpu", log=interrupt))

    def test_strategy_and_seed(self):
        library = autotune.Library("cpu", database=path("strategy.db"))
        self.assertEqual(library.tune([SIZE], trials=3, strategy="random", seed=7)["measured"], 3)
        for error, message, wrong in [
                (ValueError, "unknown", {"strategy": "luck"}),
                (TypeError, "strategy is 3: it must be a name", {"strategy": 3}),
                (ValueError, "seed is 0: it must be from 1", {"seed": 0})]:
            with self.assertRaisesRegex(error, message):
                library.tune([SIZE], trials=3, **wrong)

    def test_a_plan_multiplies(self):
        library = autotune.Library("cpu", database=path("plan.db"))
        a, b = Array((6, 5), [1.0] * 30), Array((5, 4), [2.0] * 20)
        plan = library.plan(SIZE)
        self.assertEqual(plan.workspace_bytes, 0)
        self.assertEqual(plan.choice, library.query(SIZE))
        library.tune([SIZE], trials=3)
        self.assertEqual((plan.choice["match"], library.plan(SIZE).choice["match"]), ("predicted", "exact"))
        library.close()
        for operands in (a, b), (library.prepare(a, n=4, math="strict"), library.prepare(b, m=6, math="strict")):
            c = Array((6, 4), [3.0] * 24)
            self.assertIsNone(plan(*operands, c, alpha=2, beta=-1))
            self.assertEqual(list(c.memory), [17.0] * 24)
        many = library.plan(SIZE, layout="TN", batch=2)
        c = Array((2, 6, 4))
        many(Array((6, 5), [1.0] * 30, strides=(1, 6)), Array((2, 5, 4), [2.0] * 40), c)
        self.assertEqual(list(c.memory), [10.0] * 48)

    def test_a_plan_on_a_gpu_takes_a_workspace(self):
        library = autotune.Library(0, database=path("workspace.db"))
        a, b, c = OnGpu((1024, 1024)), OnGpu((1024, 1024)), OnGpu((1024, 1024))
        try:
            plan = library.plan((1024, 1024, 1024), math="emulated", aligned=True)
        except autotune.Error as error:
            self.skipTest(str(error))
        self.assertGreater(plan.workspace_bytes, 0)
        size = plan.workspace_bytes // 4
        memory = OnGpu((size,), [0.0] * (size + 64))
        address, read_only = memory.interface["data"]
        memory.interface["data"] = (address + -address % 256, read_only)
        plan(a, b, c, workspace=memory)
        plan(a, b, c, workspace=memory, zeroed=False)
        for error, message, wrong in [
                (ValueError, "workspace", None),
                (ValueError, "workspace", OnGpu((1, 64))),
                (ValueError, "workspace has gaps", OnGpu((size, 1), [0.0] * 2 * size, strides=(2, 1))),
                (ValueError, "workspace is read-only", OnGpu((size,), read_only=True)),
                (ValueError, "workspace is on another device", Array((size,))),
                (TypeError, "workspace is int: it must be an array", 3)]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                plan(a, b, c, workspace=wrong)

    def test_wrong_calls_of_a_plan(self):
        plan = autotune.Library("cpu").plan(SIZE)
        a, b, c = Array((6, 5)), Array((5, 4)), Array((6, 4))
        for error, message, call in [
                (ValueError, "are of 6x4x3: the plan is for 6x4x5", lambda: plan(Array((6, 3)), Array((3, 4)), c)),
                (ValueError, "6x4x5 in a batch of 2", lambda: plan(Array((2, 6, 5)), b, Array((2, 6, 4)))),
                (ValueError, "a lies by columns: the plan is for matrices by rows",
                 lambda: plan(Array((6, 5), strides=(1, 6)), b, c)),
                (ValueError, "c lies by columns", lambda: plan(a, b, Array((6, 4), strides=(1, 6)))),
                (ValueError, "are on the device None: the plan is for 'cpu'",
                 lambda: plan(OnGpu((6, 5)), OnGpu((5, 4)), OnGpu((6, 4)))),
                (TypeError, "alpha is None", lambda: plan(a, b, c, alpha=None)),
                (ValueError, "b was closed", lambda: plan(a, closed_operand(b), c)),
                (ValueError, "layout is 'XX'", lambda: autotune.plan(SIZE, layout="XX", device="cpu"))]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()

    def test_names_and_memory_of_devices(self):
        library = autotune.Library("cpu")
        self.assertRegex(library.device_name(), "^cpu: ")
        library.warm_up(SIZE)
        library.release()
        library.trim()
        library.trim(4096)
        with self.assertRaisesRegex(ValueError, "keep_bytes is -1: it must be from 0"):
            library.trim(-1)
        with self.assertRaisesRegex(ValueError, "the CPU device has none"):
            library.warm_up(SIZE, stream=64)

    def test_it_is_closed_with_its_last_use(self):
        self.assertEqual(closed(lambda: ones(autotune.Library("cpu"))), 1)
        library = autotune.Library("cpu", database=path("closed.db"))
        with library:
            ones(library)
            self.assertEqual(closed(lambda: ones(library)), 0)
            self.assertEqual(closed(lambda: library.tune([SIZE], trials=2, progress=lambda *_: library.close())), 1)
        self.assertEqual(closed(library.close), 0)
        ones(library)
        self.assertEqual(closed(library.close), 1)

    def test_a_forked_process_opens_its_own(self):
        library = autotune.Library("cpu")
        ones(library)
        child = os.fork()
        if child == 0:
            os._exit(0 if ones(library)[1] == [7.0] * 24 and closed(library.close) == 1 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_the_functions_can_be_handed_to_processes(self):
        for method in "fork", "spawn":
            with multiprocessing.get_context(method).Pool(1) as pool:
                answer = pool.apply_async(autotune.query, (SIZE,), {"device": "cpu"}).get(timeout=60)
            self.assertEqual(answer["kernel"], autotune.query(SIZE, device="cpu")["kernel"])

    def test_wrong_settings(self):
        for error, message, wrong in [
                (TypeError, "device is 'gpu'", {"device": "gpu"}),
                (ValueError, "miss is 'ignore': it must be one of 'predict', 'tune'", {"miss": "ignore"}),
                (ValueError, "miss_seconds is 0: it must be above 0", {"miss_seconds": 0}),
                (ValueError, "share is 2: it must be above 0 and at most 1", {"share": 2}),
                (ValueError, "there is no program /nowhere", {"miss": "background", "program": "/nowhere/autotune"}),
                (ValueError, "max_workspace_bytes is -1: it must be from 0", {"max_workspace_bytes": -1}),
                (TypeError, "log is 3: it must be a function", {"log": 3}),
                (TypeError, "expected str, bytes or os.PathLike object, not int", {"database": 3}),
                (ValueError, "bundle has kernels for GPUs", {"device": "cpu", "bundle": "app.bundle"})]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                autotune.Library(**wrong)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if result.skipped:
        print("SKIPPED:", result.skipped[0][1])
    raise SystemExit(not result.wasSuccessful())
