#!/usr/bin/env python3
"""The documents' measured figures are those of kept results. A comment above a table,
<!-- kept: FILE... -->, names files below benchmarks/results: for each row of the table there must be a
line in them that has all of its numbers, rounded as the row has them. README's headline figures follow from the
results too."""
import pathlib
import json
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TABLE = re.compile(r"^<!-- kept: (?P<files>.*?) -->\n(?P<rows>(?:\|.*\n)+)", re.M)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|(?<=x)\d+")


def numbers_of(text):
    """The numbers of a text as they are written, without commas between thousands."""
    return [number.replace(",", "") for number in NUMBER.findall(text)]


def is_rounded(written, exact):
    """Whether a number as the documents write it is this one, rounded."""
    mantissa, _, exponent = written.partition("e")
    digits = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    return abs(float(written) - float(exact)) <= half * (1 + 1e-6)


def has_all(line, wanted):
    there = numbers_of(line)
    return all(any(is_rounded(number, each) for each in there) for number in wanted)


def table_faults(page):
    for match in TABLE.finditer(page.read_text(encoding="utf-8")):
        lines = []
        for name in match["files"].split():
            lines += (RESULTS / name).read_text(encoding="utf-8").splitlines()
        for row in match["rows"].splitlines()[2:]:
            if not any(has_all(line, numbers_of(row)) for line in lines):
                yield f"{page.relative_to(ROOT)}: no line of {match['files']} has the figures of {row}"


def headline_figures():
    """README's figures, as they follow from the kept results."""
    strict = (RESULTS / "nvidia-h200/2026-11-26/strict.txt").read_text(encoding="utf-8")
    emulated = (RESULTS / "nvidia-h200/2026-11-26-planes/emulated.txt").read_text(encoding="utf-8")
    printed = (RESULTS / "nvidia-h200/2026-11-25/default_runs.txt").read_text(encoding="utf-8")
    prediction = (ROOT / "docs/prediction.md").read_text(encoding="utf-8")
    ratios = {size: float(ratio) for size, ratio in
              re.findall(r"^ *(\d+x\d+x\d+) +[\d.]+ +[\d.]+ +([\d.]+)", strict, flags=re.M)}
    on_tensor_cores = [float(ratio) for size, ratio in re.findall(
        r"^ *(\d+)x\S+ +[\d.]+ +[\d.]+ +([\d.]+)", emulated, flags=re.M) if int(size) >= 1024]
    mean = float(re.search(r"geometric mean of the ratios: ([\d.]+)", strict)[1])
    yield f"{mean:.2f} times as fast as cuBLAS**, the geometric mean of {len(ratios)} shapes"
    yield f"(from {min(ratios.values()):.2f} to {max(ratios.values()):.2f} times)"
    share, ratio = re.search(r"^\| predicted: .*?\| ([\d.]+) %.* ([\d.]+) \|$", prediction, flags=re.M).groups()
    yield f"Without any tuning: {ratio} times as fast as cuBLAS**"
    yield f"kernels reach {share} % of the rate"
    held_out = (RESULTS / "nvidia-h200/prediction/held_out.jsonl").read_text(encoding="utf-8").splitlines()
    times = [json.loads(line)["us"] for line in held_out]
    yield f"of {len(times)} random shapes, of which {sum(us['cublas'] < us['predicted'] for us in times)} are slower"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"these lines.*?```\n(.*?)```", readme, re.S)[1]
    for line in shown.splitlines():
        if line.removesuffix(" (...)") not in printed:
            yield f"a kept result with the line {line}"
    yield f"{min(on_tensor_cores):.2f} to {max(on_tensor_cores):.2f} times as fast as cuBLAS's FP32"
    first, second = re.findall(r"([0-9.]+) s .searching", printed)[:2]
    yield f"took {first} s, and {second} s in another run"


def headline_faults():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    return [f"README.md: '{figure}' is not there" for figure in headline_figures() if figure not in readme]


def main():
    faults = [fault for page in PAGES for fault in table_faults(page)] + headline_faults()
    tables = sum(len(TABLE.findall(page.read_text(encoding="utf-8"))) for page in PAGES)
    print("\n".join(faults) or f"{tables} tables have the figures of the kept results")
    return 1 if faults or tables == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
