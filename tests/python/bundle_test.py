"""A bundle that the program made, with a driver that runs nothing."""

import os
import pathlib
import subprocess
import unittest

import arrays
from arrays import Array, OnGpu

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = os.environ["FAKE_CUDA_DRIVER"]
with_nvrtc = dict(os.environ)
os.environ["AUTOTUNE_NVRTC"] = "/nonexistent/libnvrtc.so"

import autotune  # noqa: E402: it must see the storage

SIZE = (64, 48, 32)


def export(architecture):
    path = pathlib.Path(storage.name) / f"{architecture}.bundle"
    done = subprocess.run(
        [os.environ["AUTOTUNE_PROGRAM"], "export", "--bundle", path, "--arch", architecture,
         "--sizes", "64x48x32", "--no-portfolio"], env=with_nvrtc, capture_output=True, text=True, check=False)
    if done.returncode == 3:
        raise unittest.SkipTest(done.stderr)
    assert done.returncode == 0, done.stderr
    return path


class Bundle(unittest.TestCase):
    def tearDown(self):
        autotune.use_bundle(None)

    def test_products_run_without_a_compiler(self):
        autotune.use_bundle(export("sm_90"))
        answer = autotune.query(SIZE, device=0)
        self.assertIn("from the bundle", answer["explanation"])
        autotune.matmul(OnGpu((64, 32)), OnGpu((32, 48)), OnGpu((64, 48)))
        self.assertNotIn("libnvrtc", pathlib.Path("/proc/self/maps").read_text())
        with self.assertRaisesRegex(ValueError, "this Library has a bundle"):
            autotune.tune([SIZE], device=0, trials=1)
        autotune.use_bundle(None)
        self.assertNotIn("bundle", autotune.query(SIZE, device=0)["explanation"])

    def test_libraries_with_a_bundle_and_without(self):
        by_bundle, plain = autotune.Library(0, bundle=export("sm_90")), autotune.Library(0)
        answers = [library.query(SIZE)["explanation"] for library in (by_bundle, plain, autotune)]
        self.assertEqual(["from the bundle" in answer for answer in answers], [True, False, False])

    def test_arrays_in_host_memory_take_no_bundle(self):
        autotune.use_bundle("/nowhere/app.bundle")
        out = Array((1, 1))
        autotune.matmul(Array((1, 0)), Array((0, 1)), out, beta=0.5)

    def test_what_cannot_be_used_is_refused(self):
        autotune.use_bundle("/nowhere/app.bundle")
        with self.assertRaisesRegex(autotune.Error, "/nowhere/app.bundle: cannot be read") as raised:
            autotune.query(SIZE, device=0)
        self.assertEqual(raised.exception.status, 3)
        autotune.use_bundle(export("sm_80"))
        with self.assertRaisesRegex(autotune.Error, r"is for sm_80, not for NVIDIA H200 \(sm_90\)"):
            autotune.query(SIZE, device=0)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if result.skipped:
        print("SKIPPED:", result.skipped[0][1])
    raise SystemExit(not result.wasSuccessful())
