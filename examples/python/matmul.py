"""Products in Python: of PyTorch's arrays on a GPU where there is one, checked against PyTorch's own,
else of NumPy's on the CPU device."""

import autotune


def check_on_gpu(torch):
    """Multiplies random matrices in several ways; returns the largest error beside FP64."""
    errors = []
    for m, n, k in (1024, 512, 256), (333, 777, 1001):
        a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        at = torch.randn(k, m, device="cuda").t()  # lies by columns
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            on_stream = autotune.matmul(a, b)
        torch.cuda.current_stream().wait_stream(stream)
        products = [(a, b, autotune.matmul(a, b)), (at, b, autotune.matmul(at, b)), (a, b, on_stream),
                    (a, b, autotune.matmul(a, b, math="emulated"))]
        for left, right, product in products:
            exact = left.double() @ right.double()
            errors.append(float((product - exact).norm() / exact.norm()))
            by_torch = float(((left @ right) - exact).norm() / exact.norm())
            print(f"{m}x{n}x{k}: relative error {errors[-1]:.1e}, PyTorch's {by_torch:.1e}")
    return max(errors)


def check_on_cpu():
    """Returns the largest error of a product of NumPy's arrays."""
    import numpy
    a, b = numpy.full((70, 51), 2, dtype="float32"), numpy.full((51, 33), 3, dtype="float32")
    c = autotune.matmul(a, b)
    print(f"70x33x51 of {type(c).__module__}: {float(c[0][0]):g}")
    return float(abs(c - 6 * 51).max())


def largest_error():
    try:
        import torch
        if torch.cuda.is_available():
            return check_on_gpu(torch)
    except ImportError:
        pass
    return check_on_cpu()


raise SystemExit(largest_error() > 1e-5)
