"""While loops in TorchScript that count: PyTorch prints a `for` with a `break` or `return` in it as

    while go:
      ...
      next = torch.add(i, 1)
      more = torch.__and__(torch.lt(next, n), ...)
      go, i = more, next

which ends after n rounds at the latest. Of any other nothing says that it ends.
"""

from __future__ import annotations

import ast
from collections import Counter


def is_counted(loop: ast.While) -> bool:
    r"""Whether a while loop counts up to a number that does not change in it.

    >>> def counted(text):
    ...     return is_counted(ast.parse(text).body[0])
    >>> counted("while a:\n j = torch.add(i, 1)\n b = torch.__and__(torch.lt(j, n), c)\n a, i = b, j")
    True
    >>> counted("while a:\n a, i = torch.__and__(torch.lt(torch.add(i, 1), n), c), i")
    False
    """
    match loop:
        case ast.While(
            test=ast.Name(id=test),
            body=[*before, ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values))],
            orelse=[],
        ) if len(names) == len(values) and all(isinstance(name, ast.Name) for name in names):
            new = {
                name.id: value
                for name, value in zip(names, values, strict=True)
                if isinstance(name, ast.Name)
            }
        case _:
            return False
    stored = Counter(
        node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    once = {
        step.targets[0].id: step.value
        for step in before
        if isinstance(step, ast.Assign)
        and isinstance(step.targets[0], ast.Name)
        and stored[step.targets[0].id] == 1
    }

    def of(node: ast.expr) -> ast.expr:
        """What a name stands for, if it is given a value once."""
        while isinstance(node, ast.Name) and node.id in once:
            node = once.pop(node.id)
        return node

    if test not in new or stored[test] != 1:
        return False
    condition = of(new[test])
    match condition:
        case ast.Call(func=func, args=[both, _]) if ast.unparse(func) == "torch.__and__":
            condition = of(both)
    match condition:
        case ast.Call(func=func, args=[after, bound]) if ast.unparse(func) == "torch.lt":
            return _is_next(after, of(after), new, stored) and _stays(bound, stored)
    return False


def _is_next(name: ast.expr, value: ast.expr, new: dict[str, ast.expr], stored: Counter[str]) -> bool:
    """Whether `value`, known as `name`, is a counter plus one, and the counter's next value."""
    match value:
        case ast.Call(func=func, args=[ast.Name(id=counter), ast.Constant(value=1)]):
            moved = counter in new and stored[counter] == 1 and ast.dump(new[counter]) == ast.dump(name)
            return moved and ast.unparse(func) == "torch.add"
    return False


def _stays(bound: ast.expr, stored: Counter[str]) -> bool:
    return isinstance(bound, ast.Constant) or (isinstance(bound, ast.Name) and stored[bound.id] == 0)
