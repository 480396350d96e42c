#!/usr/bin/env python3
"""Triton's autotuned FP32 product (input_precision="ieee": no tensor cores) and cuBLAS, samples of
both in turn: a second peer for the table of docs/performance.md. Needs PyTorch with Triton and a GPU.

    triton_ieee.py [SIZE ...]       cubes, 1024 2048 4096 unless told otherwise
"""
import statistics
import sys

import torch
import triton
import triton.language as tl

ROUNDS = 15
TILES = [(64, 64, 16), (64, 128, 16), (128, 64, 16), (128, 128, 16)]


def configurations():
    for m, n, k in TILES:
        for warps in (4, 8):
            for stages in (3, 4):
                blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}
                yield triton.Config(blocks, num_warps=warps, num_stages=stages)


@triton.autotune(configs=list(configurations()), key=["M", "N", "K"])
@triton.jit
def product(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            GROUP: tl.constexpr):
    """C = A B, row-major without gaps. Tiles go along M in groups, for the L2 cache."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    first_m = tile // (GROUP * tiles_n) * GROUP
    group_m = min(tiles_m - first_m, GROUP)
    tile_m = first_m + tile % (GROUP * tiles_n) % group_m
    tile_n = tile % (GROUP * tiles_n) // group_m
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        inside = k + depth < K
        a = tl.load(A + rows[:, None] * K + (k + depth)[None, :],
                    mask=(rows < M)[:, None] & inside[None, :], other=0.0)
        b = tl.load(B + (k + depth)[:, None] * N + columns[None, :],
                    mask=inside[:, None] & (columns < N)[None, :], other=0.0)
        sums = tl.dot(a, b, sums, input_precision="ieee")
    tl.store(C + rows[:, None] * N + columns[None, :], sums,
             mask=(rows < M)[:, None] & (columns < N)[None, :])


def run_triton(a, b, c):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    product[grid](a, b, c, m, n, k)


def sample_us(call):
    """The mean of a batch of launches in a graph that lasts some 2 ms."""
    graph = torch.cuda.CUDAGraph()
    call()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record(), call(), end.record(), end.synchronize()
    launches = max(1, int(2 / max(begin.elapsed_time(end), 1e-3)))
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()

    def sample():
        graph.replay()
        begin.record(), graph.replay(), end.record(), end.synchronize()
        return 1e3 * begin.elapsed_time(end) / launches

    return sample


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__}")
    print(f"{'size':>18} {'Triton us':>10} {'cuBLAS us':>10} {'ratio':>6}  configuration")
    for size in [int(text) for text in sys.argv[1:]] or [1024, 2048, 4096]:
        a, b = (torch.rand(size, size, device="cuda") * 2 - 1 for _ in range(2))
        c = torch.empty_like(a)
        run_triton(a, b, c)
        error = ((c.double() - a.double() @ b.double()).norm() / c.double().norm()).item()
        if error > 1e-5:
            sys.exit(f"{size}: relative error {error:.1e}")
        samplers = [sample_us(lambda: run_triton(a, b, c)),
                    sample_us(lambda: torch.matmul(a, b, out=c))]
        rounds = [[sample() for sample in samplers] for _ in range(ROUNDS)]
        ours, cublas = (statistics.median(column) for column in zip(*rounds))
        print(f"{f'{size}x{size}x{size}':>18} {ours:10.1f} {cublas:10.1f} {cublas / ours:6.3f}  "
              f"{product.best_config}", flush=True)


if __name__ == "__main__":
    main()
