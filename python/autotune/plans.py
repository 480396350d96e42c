"""Products whose kernel is chosen and loaded."""

from __future__ import annotations

from . import _c_api, arrays, problem
from .prepared import array_of, handles_of
from .problem import Choice, Device, Factor


class Plan:
    """A product whose kernel Library.plan() has chosen and loaded, which tune() does not change.

    A call of it allocates nothing and waits for nothing on a GPU, so that it may be captured into a graph. It
    works on the device for which it was made, several threads may use it at once, and it keeps its Library open.
    """

    def __init__(self, handle: _c_api.Handle, asked: _c_api.Problem, device: Device) -> None:
        self._handle = handle
        self._asked = asked
        self._device = device
        self._workspace_bytes = _c_api.plan_workspace_bytes(handle)

    @property
    def workspace_bytes(self) -> int:
        """The bytes of memory that each call needs as its workspace; 0 for most plans."""
        return self._workspace_bytes

    @property
    def choice(self) -> Choice:
        """The configuration and why it was chosen, as Library.query() returns it."""
        return problem.choice_of(_c_api.plan_query(self._handle), self._asked)

    def __call__(self, a: object, b: object, c: object, *, d: object = None, alpha: Factor = 1.0,
                 beta: Factor = 0.0, stream: object = None, workspace: object = None,
                 zeroed: bool = True) -> None:
        """Does c = alpha * a @ b + beta * c, with the arrays and the stream as gemm() takes them.

        a: m x k, b: k x n, c: m x n, of the plan's sizes, layouts, number and types. workspace: an FP32 array
        without gaps of at least workspace_bytes bytes at a multiple of 256, of which the first 262144 bytes are 0
        before the first call; each call leaves them so. zeroed: False where they may be anything: the call zeroes
        them first. Calls that may run at the same time need one each.

        Raises TypeError or ValueError for arguments that do not fit, Error for faults.
        """
        product, asked, device = arrays.Product(array_of(a), array_of(b), c, "c", d), self._asked, self._device
        factors, types = product.factors(alpha, beta), problem.types_of(asked)
        if product.types != types:
            raise TypeError(f"a, b and c have the types {product.types}: the plan is for {types}")
        if (product.size, product.batch or 1) != ((asked.m, asked.n, asked.k), asked.batch):
            raise ValueError(f"a, b and c are of {_text(product.size, product.batch or 1)}: "
                             f"the plan is for {_text((asked.m, asked.n, asked.k), asked.batch)}")
        if not arrays.may_be_same(product.c.device, device):
            raise ValueError(f"a, b and c are on the device {product.c.device!r}: the plan is for {device!r}")
        places = product.operands(asked.op_a, asked.op_b, False, handles_of(a, b))
        memory = (0, 0) if workspace is None else arrays.workspace_of(workspace, product.c.device)
        _c_api.plan_run(self._handle, factors, places, arrays.stream_of(product.memories, stream), memory,
                        bool(zeroed))
        arrays.note_written(c if d is None else d)


def _text(size: tuple[int, int, int], batch: int) -> str:
    m, n, k = size
    return f"{m}x{n}x{k}" + (f" in a batch of {batch}" if batch > 1 else "")
