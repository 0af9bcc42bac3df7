"""A GPU that this machine need not have: its tensors have their values in the CPU's memory, which computes with them.

It counts what a GPU would do: the operations on its tensors, and how often the host waits for their values. As on a
real GPU, an operation on tensors of both raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from kvscope.model.cuda_graphs import Values

GPU, HOST = torch.device("cuda:0"), torch.device("cpu")
ONE_KERNEL = {"aten::rms_norm"}
"""Operations that torch divides into several on a CPU but not on a GPU."""
NO_WORK = {
    f"aten::{name}"
    for name in (
        *("view", "view.dtype", "_unsafe_view", "_reshape_alias", "as_strided", "alias", "detach", "unsqueeze"),
        *("squeeze.dim", "expand", "permute", "transpose.int", "t", "slice.Tensor", "select.int", "unbind.int"),
        *("split.Tensor", "split_with_sizes", "empty.memory_format", "empty_like", "empty_strided"),
    )
}
"""Operations that start nothing on a GPU: views, and memory without values."""
MIXED = {"aten::copy_", "aten::index.Tensor"}
"""Operations that take tensors of both."""
WAITING = {"aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::bincount", "aten::masked_select"}


class OnGpu(Tensor):
    """A tensor of the GPU; `values` has its values."""

    values: Tensor
    device = property(lambda self: GPU)  # type: ignore[assignment]
    is_cuda = True  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, values: Tensor) -> OnGpu:
        """Returns a tensor with these values."""
        there: OnGpu = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, values.shape, strides=values.stride(), storage_offset=values.storage_offset(), dtype=values.dtype
        )
        there.values = values
        return there

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} of a tensor whose GPU is not active")

    def cpu(self, *_: object) -> Tensor:
        """Copies the values to the host."""
        copied: Tensor = torch.ops.aten._to_copy(self, device=HOST)
        return copied

    def tolist(self) -> Any:
        """Copies the values to the host, as a list."""
        return self.cpu().tolist()

    def to(self, *args: Any, **options: Any) -> Tensor:
        """Returns the tensor in another type or on another device."""
        (target,) = args
        if isinstance(target, torch.dtype):
            typed: Tensor = torch.ops.aten._to_copy(self, dtype=target)
            return self if target == self.dtype else typed
        return self if torch.device(target).type == GPU.type else self.cpu()


class SimulatedGpu(TorchDispatchMode):
    """Computes with tensors of the GPU; counts operations and waits while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.waits: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func.name(), dict(kwargs or {})
        if name == "aten::to.dtype_layout":
            func, name = torch.ops.aten._to_copy.default, "aten::_to_copy"
            kwargs = {key: value for key, value in kwargs.items() if key in ("dtype", "device", "non_blocking")}
        elif not name.startswith("aten::to.") and name not in ONE_KERNEL:
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        there = [each for each in tensors if isinstance(each, OnGpu)]
        device = torch.device(kwargs.pop("device", None) or (GPU if there else HOST))
        if name == "aten::_to_copy":
            self._note_copy(isinstance(args[0], OnGpu), device == HOST, bool(kwargs.get("non_blocking")))
        elif name == "aten::copy_":
            self._note_copy(isinstance(args[1], OnGpu), not isinstance(args[0], OnGpu), args[2:3] == (True,))
        elif there and any(each.dim() and not isinstance(each, OnGpu) for each in tensors) and name not in MIXED:
            raise RuntimeError(f"{name} of tensors on two devices")
        if (there or device.type == GPU.type) and name not in NO_WORK:
            self.operations.append(name)
        if there and name in WAITING:
            self.waits.append(name)
        bare_args, bare_kwargs = tree_map(lambda each: each.values if isinstance(each, OnGpu) else each, (args, kwargs))
        result = func(*bare_args, **bare_kwargs)
        if device == HOST:
            return result
        changed = {id(each.values): each for each in there}

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return changed[id(value)] if id(value) in changed else OnGpu(value)

        return tree_map(wrapped, result)

    def _note_copy(self, source_is_there: bool, to_host: bool, non_blocking: bool) -> None:
        if source_is_there == to_host and not (non_blocking and not to_host):
            self.waits.append("copy to the host" if to_host else "copy to the GPU")

    def moved(self, module: nn.Module) -> None:
        """Moves all tensors of a module to the GPU."""
        for each in module.modules():
            for tensors in (each._parameters, each._buffers):
                tensors.update({name: OnGpu(tensor.detach()) for name, tensor in tensors.items() if tensor is not None})

    def record(self, compute: Callable[[], Values]) -> tuple[Callable[[], None], Values]:
        """Records a graph, as kvscope.model.cuda_graphs.Record: a repetition computes again, into the same tensors."""
        results = compute()

        def replay() -> None:
            again = compute()
            counted = len(self.operations)
            for target, value in zip(results, again, strict=True):
                target.copy_(value)
            del self.operations[counted:]

        return replay, results


@contextmanager
def simulated_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedGpu]:
    """Computes with a simulated GPU, which torch takes for one."""
    gpu = SimulatedGpu()
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: gpu.waits.append("synchronize"))
    torch._C._set_only_lift_cpu_tensors(True)  # `torch.tensor(…, device=…)` calls the mode
    try:
        with torch.inference_mode(), gpu:
            yield gpu
    finally:
        torch._C._set_only_lift_cpu_tensors(False)
