"""README's lines of Python, as they stand there."""
import os
import pathlib
import re
import sys
import tempfile

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"

try:
    import numpy
except ImportError:
    print("SKIPPED: there is no NumPy")
    sys.exit(0)

with tempfile.TemporaryDirectory() as folder:
    os.environ.update(AUTOTUNE_DB=folder + "/a.db", XDG_CACHE_HOME=folder)
    lines = re.search(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)[1]
    found = {}
    exec(lines, found)  # pylint: disable=exec-used
    if not numpy.array_equal(found["c"], found["a"] @ found["b"]):
        sys.exit("the product is wrong")
    print("README's lines of Python work")
