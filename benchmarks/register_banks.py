#!/usr/bin/env python3
"""How often multiply-adds read two registers of one bank: benchmarks/register_banks.py CUBIN...

For each cubin, of its innermost loop with the most FFMA instructions: their number, and the share
whose operands come from the register file (not from the reuse cache) two or more from one bank.
The file has two banks, of even and of odd registers; a second read of one takes another cycle. On
an H200 kernels that differ in nothing else are the slower the larger that share is
(docs/performance.md).

Needs nvdisasm from the CUDA toolkit.
"""
import re
import subprocess
import sys

REGISTER = re.compile(r"-?\|?R(\d+)(\.reuse)?")


def instructions(cubin):
    """The instructions' texts in their order, each label's index, and which have a predicate."""
    listing = subprocess.run(["nvdisasm", "-c", cubin], capture_output=True, text=True, check=True)
    found, labels, predicated = [], {}, set()
    for line in listing.stdout.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label.group(1)] = len(found)
        elif instruction := re.match(r"\s*/\*[0-9a-f]+\*/\s+(@!?U?P[\dT]+ )?(.*?);", line):
            if instruction.group(1):
                predicated.add(len(found))
            found.append(instruction.group(2).strip())
    return found, labels, predicated


def main_loop(cubin):
    """The multiply-adds of the shortest loop that has most of them."""
    found, labels, _ = instructions(cubin)
    loops = []
    for end, text in enumerate(found):
        target = re.search(r"BRA.*`\((\.L_x_\d+)\)", text)
        if target and labels.get(target.group(1), end + 1) <= end:
            body = found[labels[target.group(1)]:end + 1]
            loops.append((sum(one.startswith("FFMA") for one in body), body))
    if not loops:
        sys.exit(f"{cubin}: it has no loop")
    most = max(count for count, _ in loops)
    body = min((body for count, body in loops if count > most / 2), key=len)
    return [one for one in body if one.startswith("FFMA")]


def share_of_conflicts(multiply_adds):
    kept = [None] * 3  # by the reuse cache, one register for each place of an operand
    conflicts = 0
    for text in multiply_adds:
        operands = text.split(None, 1)[1].split(",")[1:4]
        read, keep = set(), [None] * 3
        for place, operand in enumerate(operands):
            register = REGISTER.match(operand.strip())
            if register is None:
                continue
            number = int(register.group(1))
            if kept[place] != number:
                read.add(number)
            if register.group(2):
                keep[place] = number
        kept = keep
        even = sum(number % 2 == 0 for number in read)
        conflicts += max(even, len(read) - even) >= 2
    return conflicts / len(multiply_adds)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        loop = main_loop(path)
        print(f"{path}: {len(loop)} multiply-adds, {share_of_conflicts(loop):.3f} with a conflict")
