#!/usr/bin/env python3
"""Every page of docs/ is in its index, and every relative link of the documents leads somewhere: to
a file or folder of the tree, and, where it names one, to a heading of that page. The tests of faults
that testing.md names are there, and each kept result is listed."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INDEX = ROOT / "docs" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md",
         ROOT / "benchmarks" / "results" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text_of(page):
    """The page without its blocks of code and its code in lines, which hold no links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: "x" * len(code[0]) if "](" in code[0] else code[0], text)


def anchors_of(page):
    """The anchors that GitHub gives a page's headings."""
    anchors = []
    for heading in re.findall(r"^#+ (.*)$", text_of(page), flags=re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        same = sum(1 for other in anchors if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
        anchors.append(f"{anchor}-{same}" if same else anchor)
    return anchors


def links_of(page):
    """The relative links of a page, as pairs of a path and an anchor, either of them empty."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, path, anchor


def snippet_faults():
    """README's lines of C++ are lines of an example, which a test builds and runs."""
    example = (ROOT / "examples" / "embed_gemm" / "main.cpp").read_text(encoding="utf-8")
    known = [re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip() for line in example.splitlines()]
    lines = re.search(r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    for line in lines.splitlines():
        code = re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip()
        if not any(code in each for each in known):
            yield f"README.md: '{code}' is not in examples/embed_gemm/main.cpp"


def table_faults():
    """testing.md's table has the 30 faults, and each of the files of tests that it names is there."""
    text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| *(\d*) *\|[^|]*\| ([^|]*\.(?:cpp|py)) \|$", text, re.M)
    if [int(number) for number, _ in rows if number] != list(range(1, 31)):
        yield "docs/testing.md: the faults are not those from 1 to 30"
    for _, files in rows:
        for file in files.split(", "):
            if not (ROOT / "tests" / file).exists():
                yield f"docs/testing.md: tests/{file}: there is no such file"


def result_faults():
    """The README of the kept results names each of their files."""
    folder = ROOT / "benchmarks" / "results"
    named = {"README.md", *re.findall(r"[\w.-]+", (folder / "README.md").read_text(encoding="utf-8"))}
    for file in sorted(folder.rglob("*.*")):
        if file.is_file() and file.name not in named:
            yield f"benchmarks/results/README.md: {file.relative_to(folder)} is not listed"


def main():
    faults = [*snippet_faults(), *table_faults(), *result_faults()]
    listed = set()
    for page in PAGES:
        for link, path, anchor in links_of(page):
            target = (page.parent / path).resolve() if path else page
            if page == INDEX:
                listed.add(target)
            if not target.exists():
                faults.append(f"{page.relative_to(ROOT)}: {link}: there is no such file")
            elif anchor and anchor not in anchors_of(target):
                faults.append(f"{page.relative_to(ROOT)}: {link}: the page has no such heading")
    for page in (ROOT / "docs").rglob("*.md"):
        if page != INDEX and page not in listed:
            faults.append(f"docs/README.md: {page.relative_to(ROOT)} is not listed")
    if INDEX not in {(ROOT / path).resolve() for _, path, _ in links_of(ROOT / "README.md")}:
        faults.append("README.md: there is no link to docs/README.md")
    print("\n".join(faults) or "all pages are listed, and all links lead somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
