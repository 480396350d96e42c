"""Scripts of Kernel Tuner, on the CPU device."""

import contextlib
import io
import json
import math
import os
import pathlib
import sys
import unittest

import arrays

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"
os.environ["AUTOTUNE_DEVICE"] = "cpu"

from autotune import Error, kernel_tuner  # noqa: E402: it must see the storage
from autotune.errors import UnsupportedError  # noqa: E402
from autotune.kernel_tuner import run_kernel, strategies, tune_kernel  # noqa: E402
from autotune.kernel_tuner.parameters import parameters_of  # noqa: E402
from autotune.kernel_tuner.translation import Translator  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

ADD = """
__global__ void vector_add(float *c, float *a, float *b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
MATMUL = """
#define WIDTH 32
__global__ void matmul(float *c, const float *a, const float *b) {
  __shared__ float b_tile[DEPTH][block_size_x];
  const int column = blockIdx.x * block_size_x + threadIdx.x;
  const int first = blockIdx.y * block_size_y * tile_y + threadIdx.y;
  float sums[tile_y] = {};
  for (int k = 0; k < WIDTH; k += DEPTH) {
    for (int i = threadIdx.y; i < DEPTH; i += block_size_y) b_tile[i][threadIdx.x] = b[(k + i) * WIDTH + column];
    __syncthreads();
    #pragma unroll loop_unroll_factor_k
    for (int i = 0; i < DEPTH; ++i) {
      for (int y = 0; y < tile_y; ++y) {
        sums[y] += a[(first + y * block_size_y) * WIDTH + k + i] * b_tile[i][threadIdx.x];
      }
    }
    __syncthreads();
  }
  for (int y = 0; y < tile_y; ++y) c[(first + y * block_size_y) * WIDTH + column] = sums[y];
}
"""
N = 1000


def is_small(p):
    """A restriction with statements."""
    threads = p["block_size_x"] * p["block_size_y"]
    if threads > 256:
        return False
    return threads >= 32 or p["tile_y"] == 4


def answer_of(c):
    return [c, None, None, None]


class OfKernelTuner(unittest.TestCase):
    def setUp(self):
        self.n = numpy.int32(N)
        self.a = numpy.arange(N, dtype="float32")
        self.b = numpy.full(N, 0.5, "float32")
        self.arguments = [numpy.zeros(N, "float32"), self.a, self.b, self.n]
        self.answer = answer_of(self.a + self.b)

    def add(self, **more):
        given = {"tune_params": {"block_size_x": [32, 64]}, "quiet": True, **more}
        source = given.pop("kernel_source", ADD)
        return tune_kernel(given.pop("kernel_name", "vector_add"), source, given.pop("problem_size", N),
                           given.pop("arguments", self.arguments), **given)

    def test_vector_add(self):
        results, env = self.add(answer=self.answer, iterations=3)
        self.assertEqual({result["block_size_x"] for result in results}, {32, 64})
        self.assertEqual(list(results[0])[:2], ["block_size_x", "time"])
        self.assertLessEqual(results[0]["time"], results[1]["time"])
        self.assertAlmostEqual(results[0]["time"], sorted(results[0]["times"])[len(results[0]["times"]) // 2])
        self.assertEqual(env["best_config"], results[0])
        self.assertTrue(env["device_name"].startswith("cpu: "))
        json.dumps([results, env])

    def test_a_wrong_answer(self):
        wrong = self.a + self.b
        wrong[7] += 1
        with self.assertRaisesRegex(RuntimeError, "verification failed for: block_size_x=.* 1 of 1000 elements of c"):
            self.add(answer=[wrong, None, None, None])
        cache = os.path.join(storage.name, "wrong")
        with self.assertRaisesRegex(RuntimeError, "verification failed"):
            self.add(answer=[wrong, None, None, None], cache=cache)
        self.assertEqual(len(self.add(answer=self.answer, cache=cache)[0]), 2)  # the verdict is forgotten
        self.assertEqual(len(self.add(answer=[wrong, None, None, None], atol=2)[0]), 2)

    def test_verify(self):
        seen = []

        def verify(answer, found, atol=None):
            seen.append((found[0][3], found[1], atol))
            return answer[0] is self.answer[0]

        self.add(answer=self.answer, verify=verify, atol=0.25)
        self.assertEqual(seen, [(3.5, None, 0.25)] * 2)
        with self.assertRaisesRegex(RuntimeError, "verification failed for: block_size_x="):
            self.add(answer=self.answer, verify=lambda answer, found: found[0][0] == 1)

    def test_run_kernel(self):
        results = run_kernel("vector_add", ADD, N, self.arguments, {"block_size_x": 64})
        self.assertTrue((results[0] == self.a + self.b).all())
        self.assertTrue((results[1] == self.a).all())
        self.assertIs(results[3], self.n)
        self.assertFalse(self.arguments[0].any())
        matrix = [numpy.zeros((10, 100), "float32"), *self.arguments[1:]]
        self.assertEqual(run_kernel("vector_add", ADD, N, matrix, {"block_size_x": 64})[0].shape, (10, 100))
        with self.assertRaisesRegex(RuntimeError, "the kernel fails for block_size_x=64: .*float8"):
            run_kernel("vector_add", ADD.replace("int i", "float8 i"), N, self.arguments, {"block_size_x": 64})

    def test_a_tiled_product(self):
        a = numpy.random.default_rng(1).random((32, 32), "float32")
        b = numpy.eye(32, dtype="float32")
        parameters = {"block_size_x": [8, 16], "block_size_y": [2, 4, 32], "tile_y": [1, 2, 4], "DEPTH": [8],
                      "loop_unroll_factor_k": [0, 2]}
        per_block = 8
        forms = (
            ["block_size_x * block_size_y <= 256", "block_size_x*block_size_y >= 32 or tile_y == 4",
             "block_size_y*tile_y % 8 == 0", "32 % (block_size_y*tile_y) == 0"],
            [is_small, lambda p: p["block_size_y"] * p["tile_y"] / per_block in (1, 2, 4)],
            [is_small, lambda block_size_y, tile_y: 8 <= block_size_y * tile_y <= 32 and not block_size_y * tile_y % 8])
        for restrictions in forms:
            results, _ = tune_kernel("matmul", MATMUL, (32, 32), [numpy.zeros_like(a), a, b], parameters,
                                     grid_div_y=["block_size_y", "tile_y"], restrictions=restrictions,
                                     answer=[a, None, None], quiet=True, strategy_options={"max_fevals": 3})
            self.assertEqual(len(results), 3)
            for result in results:
                self.assertIn(result["block_size_y"] * result["tile_y"], (8, 16, 32))
                self.assertNotIn("__error__", result)

    def test_divisors_of_the_grid(self):
        source = ADD.replace("block_size_x + threadIdx", "block_size_x * per_thread + threadIdx").replace(
            "if (i < n) c[i] = a[i] + b[i];",
            "for (int k = 0; k < per_thread; ++k, i += block_size_x) if (i < n) c[i] = a[i] + b[i];")
        for divisor in "block_size_x * per_thread", [64], ["block_size_x", lambda p: p["per_thread"]]:
            with self.subTest(divisor=divisor):
                results, _ = self.add(kernel_source=source, tune_params={"block_size_x": [32], "per_thread": [2]},
                                      grid_div_x=divisor, answer=self.answer)
                self.assertNotIn("__error__", results[0])
        with self.assertRaisesRegex(RuntimeError, "left|are wrong"):
            self.add(kernel_source=source, tune_params={"block_size_x": [32], "per_thread": [2]},
                     grid_div_x=[128], answer=self.answer)

    def test_a_problem_size_and_shared_memory_of_parameters(self):
        for size in ("blocks", ), lambda p: (p["blocks"], 1):
            with self.subTest(size=size):
                text = ADD.replace("if (i < n)", "for (; i < n; i += grid_size_x * block_size_x)")
                results, _ = self.add(kernel_source=text, problem_size=size, grid_div_x=[], answer=self.answer,
                                      tune_params={"block_size_x": [64], "blocks": [4]})
                self.assertNotIn("__error__", results[0])
        results, _ = self.add(smem_args={"size": lambda p: 4 * p["block_size_x"] - 256},
                              tune_params={"block_size_x": [128, 64, 32]})
        self.assertEqual({result["block_size_x"] for result in results}, {64, 128})  # of 0 bytes or more

    def test_parameters_that_are_texts_and_fractions(self):
        source = ADD.replace("c[i] =", "c[i] = (TYPE)(SCALE) * 0 +")
        parameters = {"block_size_x": [32], "TYPE": ["float", "double", "float9"], "SCALE": [0.5, 2]}
        results, _ = self.add(kernel_source=source, tune_params=parameters, answer=self.answer,
                              restrictions=["TYPE != 'float9' or SCALE < 1"])
        self.assertEqual(len(results), 5)
        failed = [result for result in results if "__error__" in result]
        self.assertEqual([(result["TYPE"], result["SCALE"], result["__error__"]) for result in failed],
                         [("float9", 0.5, "CompilationFailedConfig")])
        self.assertEqual(results[-1], failed[0])
        self.assertNotIn("time", failed[0])

    def test_macros(self):
        source = ADD.replace("block_size_x", "BLOCK").replace("a[i] +", "a[i] + EXTRA +")
        results, _ = self.add(kernel_source=source, answer=answer_of(self.a + self.b + 35),
                              tune_params={"block_size_x": [32]},
                              defines={"BLOCK": "block_size_x", "EXTRA": lambda p: p["block_size_x"] + 3})
        self.assertNotIn("__error__", results[0])
        source = ADD.replace("if (i < n)", "if (kernel_tuner && i < n)").replace("block_size_x", "block_size_y * 256")
        results, _ = self.add(kernel_source=source, answer=self.answer, tune_params={"block_size_y": [1]})
        self.assertNotIn("__error__", results[0])

    def test_names_of_blocks(self):
        results, _ = self.add(kernel_source=ADD.replace("block_size_x", "bx"), tune_params={"bx": [32, 64]},
                              block_size_names=["bx"], answer=self.answer)
        self.assertEqual(len(results), 2)
        results, _ = self.add(kernel_source=ADD.replace("block_size_x", "BLOCK_SIZE_X"), answer=self.answer,
                              tune_params={"BLOCK_SIZE_X": [64]})
        self.assertEqual(len(results), 1)

    def test_templates_typed_by_macros_and_vectors(self):
        template = ADD.replace("__global__", "template <typename T, int BLOCK>\n__global__").replace(
            "float *", "T *").replace("block_size_x", "BLOCK")
        results, _ = self.add(kernel_source=template, kernel_name="vector_add<float, block_size_x>",
                              answer=self.answer)
        self.assertEqual(len(results), 2)
        results, _ = self.add(kernel_source="#define real float\n" + ADD.replace("float *", "real *"),
                              answer=self.answer)
        self.assertEqual(len(results), 2)
        vectors = ADD.replace("float *", "float4 *").replace(
            "a[i] + b[i]", "make_float4(a[i].x + b[i].x, a[i].y, 0, 0)")
        found = run_kernel("vector_add", vectors, 250, [*self.arguments[:3], numpy.int32(250)], {"block_size_x": 64})
        self.assertEqual(list(found[0][4:8]), [4.5, 5, 0, 0])

    def test_constant_memory(self):
        source = "__constant__ float offsets[2 + 2];\n" + ADD.replace("a[i] +", "a[i] + offsets[i % 4] +")
        offsets = numpy.array([1, -2, 3, 0.25], "float32")
        results, _ = self.add(kernel_source=source, cmem_args={"offsets": offsets},
                              answer=answer_of(self.a + self.b + numpy.resize(offsets, N)))
        self.assertNotIn("__error__", results[-1])
        with self.assertRaisesRegex(UnsupportedError, "cmem_args\\['other'\\]: kernel_source has no declaration"):
            self.add(kernel_source=source, cmem_args={"other": offsets})

    def test_files_and_what_they_include(self):
        folder = pathlib.Path(storage.name, "files")
        folder.mkdir()
        (folder / "sum.h").write_text("__device__ inline float sum(float a, float b) { return a + b; }\n")
        (folder / "add.cu").write_text('#include "sum.h"\n' + ADD.replace("a[i] + b[i]", "sum(a[i], b[i])"))
        source = [folder / "add.cu", folder / "sum.h"]
        self.assertEqual(len(self.add(kernel_source=source, answer=self.answer)[0]), 2)
        with self.assertRaises(FileNotFoundError):
            self.add(kernel_source=str(folder / "other.cu"))

    def test_metrics_and_objectives(self):
        metrics = {"rate": lambda p: p["block_size_x"] / p["time"], "double": "2 * rate", "size": "block_size_x"}
        different = ADD.replace("a[i] +", "block_size_x +")  # without an answer results are not compared
        results, env = self.add(metrics=metrics, objective="size", objective_higher_is_better=True,
                                kernel_source=different)
        self.assertEqual([result["size"] for result in results], [64, 32])
        self.assertEqual(env["best_config"]["block_size_x"], 64)
        for result in results:
            self.assertAlmostEqual(result["double"], 2 * result["block_size_x"] / result["time"])
        with self.assertRaisesRegex(ValueError, "objective_higher_is_better is missing"):
            self.add(metrics=metrics, objective="rate")
        with self.assertRaisesRegex(ValueError, "objective is 'energy': it must be 'time' or the name of a metric"):
            self.add(objective="energy")

    def test_a_cache(self):
        cache = os.path.join(storage.name, "add.json")
        first, _ = self.add(cache=cache)
        again, _ = self.add(cache=cache, tune_params={"block_size_x": [32, 64]})
        self.assertEqual([result["times"] for result in first], [result["times"] for result in again])
        self.assertTrue(os.path.exists(os.path.join(storage.name, "add.autotune.db")))
        other, _ = self.add(cache=cache, kernel_source=ADD.replace("a[i] +", "2 * a[i] +"))
        self.assertNotEqual([result["times"] for result in first], [result["times"] for result in other])

    def test_strategies(self):
        results, _ = self.add(strategy="random_sample", strategy_options={"max_fevals": 2, "time_limit": 60}, seed=5,
                              tune_params={"block_size_x": [32, 64, 96, 128]})
        self.assertEqual(len(results), 2)
        for strategy, own in strategies.NAMES.items():
            self.assertEqual(strategies.options_of(strategy, {"max_fevals": 7}, 3, 50),
                             ["--strategy", own, "--trials", "7", "--seed", "3"])
        self.assertEqual(strategies.options_of(None, None, None, 50), ["--strategy", "exhaustive", "--trials", "50"])
        self.assertEqual(strategies.options_of("mls", {"time_limit": 2}, None, 50),
                         ["--strategy", "local", "--budget", "2s"])

    def test_unsigned_and_double(self):
        source = "__global__ void f(double *c, unsigned int *a, double s, long long n) {\n" \
                 "  int i = blockIdx.x * block_size_x + threadIdx.x;\n  if (i < n) c[i] = a[i] * s;\n}\n"
        a = numpy.full(N, 2**32 - 1, "uint32")
        found = run_kernel("f", source, N, [numpy.zeros(N), a, numpy.float64(-1e-3), numpy.int64(N)],
                           {"block_size_x": 32})
        self.assertAlmostEqual(found[0][5], -1e-3 * (2**32 - 1))
        self.assertEqual(found[1].dtype, numpy.uint32)

    def test_what_is_refused_by_name(self):
        array = self.arguments[0]
        for message, given in (
                ("observers is", {"observers": [1]}), ("lang is 'OpenCL'", {"lang": "OpenCL"}),
                ("texmem_args is", {"texmem_args": {"t": array}}), ("compiler is", {"compiler": "nvcc"}),
                ("simulation_mode is", {"simulation_mode": True}), ("parallel is", {"parallel": 4}),
                ("platform is", {"platform": 1}), ("log is", {"log": 1}),
                ("objectives is", {"objectives": {"time": False}}),
                ("objective is", {"objective": ["time", "energy"]}),
                ("strategy is 'nsga2': it must be one of brute_force", {"strategy": "nsga2"}),
                ("strategy_options has 'fraction'", {"strategy_options": {"fraction": 0.5}}),
                ("smem_args has 'mode'", {"smem_args": {"mode": 1}}),
                ("compiler_options has '-arch=sm_80'", {"compiler_options": ["-arch=sm_80"]}),
                ("kernel_source is a function", {"kernel_source": lambda p: ADD}),
                ("kernel_source has no kernel '__global__ void other", {"kernel_name": "other"}),
                ("restrictions uses 'threads', which is no parameter", {"restrictions": "threads > 1"}),
                ("restrictions uses the operator 'BitAnd'", {"restrictions": lambda p: p["block_size_x"] & 32 == 32}),
                ("grid_div_x uses the function sqrt", {"grid_div_x": lambda p: math.sqrt(p["block_size_x"])}),
                ("restrictions has <built-in function sqrt>", {"restrictions": [math.sqrt]}),
                ("elements of bool", {"arguments": [array.astype("bool"), *self.arguments[1:]]}),
                ("elements of float64, but the kernel has float\\*", {
                    "arguments": [array.astype("float64"), *self.arguments[1:]]}),
                ("of int32, but the kernel's argument is of float", {
                    "kernel_source": ADD.replace("int n", "float n")}),
                ("of bool\\*: buffers have", {"kernel_source": ADD.replace("float *c", "bool *c")}),
                ("tune_params has 'a b'", {"tune_params": {"a b": [1]}}),
                ("answer\\[3\\] is of an argument by value", {"answer": [None, None, None, 3]}),
        ):
            with self.subTest(message):
                with self.assertRaisesRegex(UnsupportedError, message) as caught:
                    self.add(**given)
                self.assertNotIn("\n", str(caught.exception))
        for message, kind, given in (
                ("unknown", TypeError, {"unknown": 1}),
                ("arguments has 3 values, but the kernel has 4", TypeError, {"arguments": self.arguments[:3]}),
                ("arguments\\[3\\] \\(n\\) is of int", TypeError, {"arguments": [*self.arguments[:3], 5]}),
                ("answer\\[0\\] has 2 elements", ValueError, {"answer": [array[:2], None, None, None]}),
                ("restrictions leave no configuration", ValueError, {"restrictions": "block_size_x > 64"}),
                ("tune_params has 'time'", ValueError, {"tune_params": {"time": [1]}}),
                ("iterations is 0", ValueError, {"iterations": 0}),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.add(**given)
        with self.assertRaisesRegex(Error, "no configuration compiles: .*float8"):
            self.add(kernel_source=ADD.replace("int i", "float8 i"))

    def test_expressions(self):
        parameters = parameters_of({"x": [4, 7], "y": [2, 3], "mode": ["on", "off"]}, has_defines=False)
        limit, names = 12, (4, 5)

        def branches(p):
            z = p["x"] // p["y"]
            if z > 2:
                z = z + 1
                return z * 2
            return max(z, 1)

        mode = '(tune_mode == 0 ? "on" : ("off"))'
        for given, text in (
                ("x / y == 2", "((float(x) / y) == 2)"), ("x % y", "(x % y)"),
                ("(x - 9) % y", "(((x - 9) % y + y) % y)"), ("x << 2 >> y", "((x * 2 ** 2) // 2 ** y)"),
                ("1 < x <= y", "(1 < x <= y)"), ("x not in [4, 5]", "(x not in (4, 5))"),
                ("not (x and y == 2)", "(not (x and (y == 2)))"), ("x or y", "(x ? x : y)"),
                ("max([x, y, -1])", "max(x, y, (-1))"), ("mode == 'on'", f'({mode} == "on")'),
                (lambda p: p["x"] * p["y"] <= limit, "((x * y) <= 12)"), (lambda p: p["x"] in names, "(x in (4, 5))"),
                (lambda x, y: math.ceil(x / y), "ceil((float(x) / y))"),
                (branches, "(((x // y) > 2) ? (((x // y) + 1) * 2) : max((x // y), 1))"),
        ):
            translator = Translator(parameters, "restrictions")
            with self.subTest(text):
                found = translator.of_text(given) if isinstance(given, str) else translator.of_function(given)[0]
                self.assertEqual(found, text)

    def test_a_device(self):
        del os.environ["AUTOTUNE_DEVICE"]
        try:
            self.assertEqual(len(self.add(device="cpu")[0]), 2)
            with self.assertRaisesRegex(Error, "driver"):
                self.add()
            with self.assertRaisesRegex(UnsupportedError, "device is 'gpu'"):
                self.add(device="gpu")
        finally:
            os.environ["AUTOTUNE_DEVICE"] = "cpu"

    def test_the_script_in_the_document(self):
        text = (pathlib.Path(__file__).parents[2] / "docs" / "own-kernels.md").read_text(encoding="utf-8")
        text = text[text.index("## Scripts of Kernel Tuner"):]
        script = text[text.index("```python\n") + len("```python\n"):]
        names = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            exec(script[:script.index("```")], names)
        self.assertEqual(len(names["results"]), 3)
        self.assertRegex(printed.getvalue(), "BEST PERFORMING CONFIGURATION FOR OBJECTIVE time:\nblock_size_x=")

    def test_a_line_of_a_configuration(self):
        params = {"block_size_x": 64, "time": 1.23456, "other": "a"}
        self.assertEqual(kernel_tuner.get_config_string(params), "block_size_x=64, time=1.235, other=a")
        self.assertEqual(kernel_tuner.get_config_string(params, ["time"], {"time": "ms"}), "time=1.235ms")

    def test_files_of_results(self):
        parameters = {"block_size_x": [32, 64], "BAD": [0, 1]}
        results, _ = self.add(kernel_source=ADD.replace("int i", "#if BAD\n#error\n#endif\nint i"),
                              tune_params=parameters, metrics={"double": "2 * time"})
        path = os.path.join(storage.name, "new", "results")
        kernel_tuner.store_output_file(path, results, parameters)
        document = json.loads(pathlib.Path(path + ".json").read_text(encoding="utf-8"))
        self.assertEqual(document["schema_version"], "1.0.0")
        self.assertEqual([entry["invalidity"] for entry in document["results"]], ["correct"] * 2 + ["compile"] * 2)
        best = document["results"][0]
        self.assertEqual(best["configuration"], {"block_size_x": results[0]["block_size_x"], "BAD": 0})
        self.assertEqual(best["measurements"], [{"name": "time", "value": results[0]["time"], "unit": "ms"},
                                                {"name": "double", "value": results[0]["double"], "unit": ""}])
        self.assertEqual(best["times"]["runtimes"], results[0]["times"])
        kernel_tuner.store_metadata_file(path + "_metadata.json")
        metadata = json.loads(pathlib.Path(path + "_metadata.json").read_text(encoding="utf-8"))["metadata"]
        self.assertEqual(metadata["operating_system"], "Linux")
        self.assertIn("devices", metadata["environment"]["device_query"]["autotune"])


if __name__ == "__main__":
    if numpy is None:
        print("SKIPPED: no NumPy")
        sys.exit()
    unittest.main()
