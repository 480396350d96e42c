#!/usr/bin/env python3
"""The registers of warps that only copy: benchmarks/copying_registers.py CUBIN...

Follows, in each cubin of gemm_tma, what runs behind the instruction that gives registers back
(USETMAXREG.DEALLOC) and prints how many registers that code uses. ptxas does not count them: more
than kCopyRegisters of gemm_tma.cu would be read from what other warps have. Ends with 1 where it
finds more.

Needs nvdisasm from the CUDA toolkit.
"""
import re
import sys

from register_banks import instructions

COPY_REGISTERS = 40  # as in gemm_tma.cu


def registers_behind(start, found, labels, predicated):
    """One more than the highest register of the code that can be reached from there."""
    reached, open_ends, most = set(), [start], 0
    while open_ends:
        at = open_ends.pop()
        while at < len(found) and at not in reached:
            reached.add(at)
            text = found[at]
            most = max([most] + [int(number) + 1 for number in re.findall(r"\bR(\d+)", text)])
            target = re.search(r"`\((\.L_x_\d+)\)", text)
            if target and target.group(1) in labels:
                open_ends.append(labels[target.group(1)])
            # BSYNC goes on where BSSY said, which was followed; behind a call the code goes on.
            if at not in predicated and text.startswith(("EXIT", "RET", "BRA ")):
                break
            at += 1
    return most


def main():
    too_many = False
    for path in sys.argv[1:]:
        found, labels, predicated = instructions(path)
        starts = [at for at, text in enumerate(found) if text.startswith("USETMAXREG.DEALLOC")]
        if not starts:
            sys.exit(f"{path}: no warp gives registers back")
        most = max(registers_behind(at, found, labels, predicated) for at in starts)
        too_many = too_many or most > COPY_REGISTERS
        print(f"{path}: {most} registers")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
