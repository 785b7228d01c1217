"""A PyTorch module in memory: watched by forward hooks, run in eval mode without gradients, left as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from infimum.errors import InputError
from infimum.models._cut import Cut
from infimum.models._torch import run as tr
from infimum.models._torch.cut import candidates, cut_network
from infimum.models._torch.reading import Calls, Layer
from infimum.models._torch.run import Tensor

Module = Any
"""A torch.nn.Module."""


def cut_module(
    module: Module, example: Any = None, head_layer: str | None = None, device: str | None = None
) -> Cut:
    """A PyTorch network cut before its prediction layer.

    `module` is a torch.nn.Module, a ScriptModule or an ExportedProgram that maps a batch to logits or probabilities:
    a tensor, or a tuple, dict or object (`.logits`) that holds it. `example` is one batch (n, ...): an array or
    tensor, a tuple of them, or a dict by name. `head_layer` names the layer where the head begins: a linear layer
    gives a Head, anything else a HeadFunction. The module is moved to `device` if one is given, runs in eval mode
    without gradients, and gets its training mode back. Raises InputError where no head is found.
    """
    torch = tr.import_torch()
    if isinstance(module, torch.export.ExportedProgram):
        from infimum.models._torch.export import cut_program

        return cut_program(module, example, head_layer, device or "cpu")
    if isinstance(module, torch.jit.ScriptModule):
        from infimum.models._torch.script import cut_script

        return cut_script(module, example, head_layer, device)
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"a torch.nn.Module was expected, not {type(module).__name__}")
    return cut_network(ModuleNetwork(module, device), example, head_layer)


class ModuleNetwork:
    """A module as a TorchNetwork; `prepare` may turn a batch into what the module takes."""

    def __init__(
        self,
        module: Module,
        device: str | None = None,
        framework: str = "PyTorch",
        prepare: Callable[[Any], Any] = lambda inputs: inputs,
    ) -> None:
        torch = tr.import_torch()
        # DataParallel and compiled modules only wrap the network; hooks belong on what they wrap.
        while isinstance(
            module, torch.nn.DataParallel | torch.nn.parallel.DistributedDataParallel
        ) or hasattr(module, "_orig_mod"):
            module = module._orig_mod if hasattr(module, "_orig_mod") else module.module
        if device is not None:
            module.to(tr.check_device(device))
        self.framework, self.fixed_batch = framework, None
        self.module, self.prepare = module, prepare
        self.modules = dict(module.named_modules(remove_duplicate=False))
        self.repeated: set[str] = set()
        with _evaluating(module):  # in training mode, spectral norm changes its state when a weight is read
            self.layers = [_layer(name, layer) for name, layer in module.named_modules() if is_linear(layer)]

    def run(self, inputs: Any, names: Sequence[str]) -> tuple[Any, Calls]:
        """What the module returns, and what went through the named submodules."""
        torch = tr.import_torch()
        own = [*self.module.parameters(), *self.module.buffers()]
        device = own[0].device if own else torch.device("cpu")
        dtype = next((p.dtype for p in own if p.is_floating_point()), torch.float32)
        positional, named = tr.to_tensors(self.prepare(inputs), device, dtype)
        calls: Calls = {}

        def hook(name: str) -> Callable[..., None]:
            def keep(_: Module, args: Any, kwargs: Any, output: Any) -> None:
                x = args[0] if args else next(iter(kwargs.values()), None)
                if isinstance(x, torch.Tensor):
                    if calls.pop(name, None) is not None:
                        self.repeated.add(name)
                    # Copies: what follows may work in place.
                    calls[name] = x.clone(), output.clone() if isinstance(output, torch.Tensor) else output

            return keep

        with contextlib.ExitStack() as stack:
            stack.enter_context(_evaluating(self.module))
            for name in names:
                handle = self.modules[name].register_forward_hook(hook(name), with_kwargs=True)
                stack.callback(handle.remove)
            rows = len(positional[0]) if positional else len(next(iter(named.values())))
            output = tr.run_network(
                lambda: self.module(*positional, **named), positional or named, rows, self._expects()
            )
        return output, calls

    def parts(self, name: str, end: str | None) -> Iterator[Callable[[Tensor], Tensor]]:
        """The named module, then with each module that follows it in its (nested) Sequential."""
        del end  # the module's own structure says where parts end
        if name not in self.modules or not name:
            raise InputError(f"there is no layer {name!r} (head_layer) in this network. {candidates(self)}")
        return self._parts(name)

    def _parts(self, name: str) -> Iterator[Callable[[Tensor], Tensor]]:
        torch = tr.import_torch()
        chain = [self.modules[name]]
        yield self._function(chain)
        while name:
            name, _, child = name.rpartition(".")
            parent = self.modules[name]
            if not isinstance(parent, torch.nn.Sequential):
                return
            names = [key for key, _ in parent.named_children()]
            # named_children leaves repeated modules out: then what follows cannot be told from names.
            if len(names) != len(parent) or child not in names:
                return
            for key in names[names.index(child) + 1 :]:
                chain = [*chain, parent.get_submodule(key)]
                yield self._function(chain)

    def _function(self, chain: list[Module]) -> Callable[[Tensor], Tensor]:
        torch = tr.import_torch()

        def function(x: Tensor) -> Tensor:
            with _evaluating(self.module), torch.no_grad():
                x = x.clone()  # a first layer that works in place must not change the features
                for module in chain:
                    x = module(x)
            return x

        return function

    def _expects(self) -> str:
        """The first layer with parameters, which tells what the network reads."""
        for module in self.module.modules():
            if next(module.children(), None) is None and next(module.parameters(), None) is not None:
                return f"its first layer is {module}"
        return ""


def is_linear(layer: Module) -> bool:
    """Whether a layer is an nn.Linear or a 1x1 convolution, of those that act on each position alike."""
    torch = tr.import_torch()
    if isinstance(layer, torch.nn.Linear):
        return True
    if not isinstance(layer, torch.nn.Conv1d | torch.nn.Conv2d | torch.nn.Conv3d):
        return False
    return (
        set(layer.kernel_size) == {1}
        and set(layer.stride) == {1}
        and layer.groups == 1
        and layer.padding in ((0,), (0, 0), (0, 0, 0))
    )


def _layer(name: str, layer: Module) -> Layer:
    bias = None if layer.bias is None else layer.bias.detach()
    weight = layer.weight.detach()
    return Layer(name, weight.flatten(1), bias, channels_first=weight.ndim > 2)


@contextlib.contextmanager
def _evaluating(module: Module) -> Iterator[None]:
    """Eval mode inside, each submodule's own training flag back afterwards."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
