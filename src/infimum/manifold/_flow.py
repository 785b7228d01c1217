"""Normalising flow: an invertible network that turns normals into features, trained by maximum likelihood.

RealNVP (Dinh, Sohl-Dickstein and Bengio, 2017): layers that each scale and shift one half of the features by what a
small network makes of the other half and of the predicted class. Features are first centred on their class's mean and
divided by the deviation within classes; those that never vary within a class are kept as the constants they are.
Training stops when the log-likelihood of a tenth of the rows, set aside, no longer rises. Needs the extra `flow` (zuko,
torch). Features that are often exactly 0, as behind a ReLU, have no density that a flow could have: see `fidelity`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_matrix, check_predicted, check_seed
from infimum._streams import Stream
from infimum.errors import InputError, MissingExtraError
from infimum.head import Head
from infimum.manifold._even import even_points
from infimum.manifold._manifold import ManifoldFit, group_by_component

LAYERS = 6
HIDDEN = (128, 128)
EPOCHS = 200
PATIENCE = 10
"""Epochs without a better log-likelihood of the rows set aside before training ends."""

ROWS = 256
"""Rows per step."""

RATE = 1e-3


@dataclass(frozen=True, eq=False)
class FlowLaw:
    """A trained `network` for standardised features given the class (weight `weights[c]`), and what undoes that.

    `head` is the linear layer that samples pass through, None for the features themselves.
    """

    network: Any
    weights: Float[np.ndarray, " C"]
    live: Int[np.ndarray, " v"]
    means: Float[np.ndarray, "C d"]
    scale: Float[np.ndarray, " d"]
    fit: ManifoldFit
    head: Head | None = None

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n k"]:
        """See `Manifold.sample`."""
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        return self._made_of(component, rng.standard_normal((n, len(self.live))))

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`."""
        points = even_points(n, len(self.live), rng)
        component = np.searchsorted(np.cumsum(self.weights), points.component, side="right")
        return self._made_of(np.minimum(component, len(self.weights) - 1), points.normals), points.u

    def push_forward(self, head: Head) -> FlowLaw:
        """The law of head(features): drawn in d dimensions, since a flow's image has no closed form."""
        return FlowLaw(self.network, self.weights, self.live, self.means, self.scale, self.fit, head)

    def _made_of(self, component: Int[np.ndarray, " n"], normals: Float[np.ndarray, "n v"]) -> Array:
        import torch

        parts = [np.zeros((0, self.means.shape[1] if self.head is None else self.head.n_classes))]
        for start in range(0, len(normals), 2**14):
            rows = slice(start, start + 2**14)
            given = _one_hot(component[rows], len(self.weights))
            with torch.no_grad():
                base = torch.from_numpy(normals[rows].astype(np.float32))
                made = self.network(given).transform.inv(base).numpy()
            features: Array = self.means[component[rows]]
            features[:, self.live] += made * self.scale[self.live]
            parts.append(features if self.head is None else self.head.logits(features))
        return np.concatenate(parts)


def fit_flow(features: Array, predicted: Array, seed: int = 0, epochs: int = EPOCHS) -> FlowLaw:
    """Fit to features (n, d) of predicted classes (n,), for at most `epochs` passes; same seed, same flow.

    `fit.log_likelihood` is the mean over the rows set aside, in nats of the features that vary. Raises
    MissingExtraError without zuko or torch, InputError with fewer than 20 rows or two features that vary.
    """
    x = check_matrix(features, "manifold features").astype(np.float64)
    classes, part = np.unique(check_predicted(predicted, len(x)), return_inverse=True)
    part = part.reshape(-1)
    groups = group_by_component(part, len(classes))
    means = np.stack([x[rows].mean(axis=0) for rows in groups])
    x -= means[part]
    scale = x.std(axis=0)
    live = np.flatnonzero(scale > 1e-9 * np.abs(means).max(axis=0))  # beyond rounding
    if len(x) < 20 or len(live) < 2:
        raise InputError(
            f"a flow needs 20 rows and 2 features that vary within a class, not {len(x)} and {len(live)}: "
            "use the kernel manifold"
        )
    torch, zuko = _packages()
    standard = torch.from_numpy((x[:, live] / scale[live]).astype(np.float32))
    given = _one_hot(part, len(classes))
    order = Stream.FLOW_ORDER.generator(check_seed(seed)).permutation(len(x))
    held, kept = (torch.from_numpy(rows) for rows in np.split(order, [len(x) // 10]))
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state alone
        torch.manual_seed(seed)
        network = zuko.flows.RealNVP(len(live), len(classes), transforms=LAYERS, hidden_features=HIDDEN)
        best, epoch, converged = _train(torch, network, standard, given, kept, held, epochs)
    fit = ManifoldFit(
        "flow",
        len(x),
        x.shape[1],
        len(classes),
        f"{LAYERS} coupling layers",
        converged=converged,
        iterations=epoch,
        log_likelihood=best - float(np.log(scale[live]).sum()),
    )
    return FlowLaw(network, np.bincount(part) / len(x), live, means, scale, fit)


def _train(
    torch: Any, network: Any, x: Any, given: Any, kept: Any, held: Any, epochs: int
) -> tuple[float, int, bool]:
    """Adam with early stopping; leaves the best parameters in the network."""
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    best, best_epoch, state, epoch = -np.inf, 0, copy.deepcopy(network.state_dict()), 0
    while epoch < epochs and epoch - best_epoch < PATIENCE:
        epoch += 1
        for rows in kept[torch.randperm(len(kept))].split(ROWS):
            loss = -network(given[rows]).log_prob(x[rows]).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            optimiser.step()
        with torch.no_grad():
            now = float(network(given[held]).log_prob(x[held]).mean())
        if now > best:
            best, best_epoch, state = now, epoch, copy.deepcopy(network.state_dict())
    if not np.isfinite(best):
        raise InputError(
            "the flow's training diverged: use another manifold, or look at the features' outliers"
        )
    network.load_state_dict(state)
    return best, epoch, epoch - best_epoch >= PATIENCE


def _one_hot(component: Array, n_classes: int) -> Any:
    import torch

    return torch.nn.functional.one_hot(torch.from_numpy(component.astype(np.int64)), n_classes).float()


def _packages() -> tuple[Any, Any]:
    try:
        import torch
        import zuko
    except ImportError as error:
        raise MissingExtraError("A normalising flow", "flow") from error
    return torch, zuko
