"""The lines of Python in README and docs/embedding.md, as they stand there.

Those that make NumPy's arrays are run. What the others name is there.
"""
import ast
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import numpy
except ImportError:
    print("SKIPPED: there is no NumPy")
    sys.exit(0)

with tempfile.TemporaryDirectory() as folder:
    os.environ.update(AUTOTUNE_DB=folder + "/a.db", XDG_CACHE_HOME=folder)
    import autotune  # it must see the storage

    os.chdir(folder)
    ran = 0
    for page in "README.md", "docs/embedding.md":
        for lines in re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S):
            for node in ast.walk(ast.parse(lines)):
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "autotune":
                    getattr(autotune, node.attr)
            if "import numpy" in lines:
                found = {}
                exec(lines, found)  # pylint: disable=exec-used
                if not numpy.array_equal(found["c"], found["a"] @ found["b"]):
                    sys.exit(f"{page}: the product is wrong")
                ran += 1
    if ran != 2:
        sys.exit(f"{ran} pieces of Python make NumPy's arrays, where there were 2")
    print("the lines of Python in README and docs/embedding.md work")
