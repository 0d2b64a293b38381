"""Train one sparse autoencoder, and report on it.

The loss is the squared error of reconstruction over the variance of the vectors. Features that have not been active for a
tenth of the steps are dead; they learn from what the others left unexplained (Gao et al. 2024, auxiliary loss, weight 1/32,
as many of them as half the width), which brings most of them back. Columns of the decoder keep length 1. Adam; the
learning rate rises for a tenth of the steps and falls in the last fifth; gradients are cut at norm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import FunctionError
from counterbalance.udfs.models.learning import descend
from counterbalance.udfs.models.sae_model import PARTS, Autoencoder, Member, largest
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from counterbalance.udfs.models.sae_vectors import Vectors

AUXILIARY: Final = 1 / 32
RISE: Final = 0.1
FALL: Final = 0.2
PATIENCE: Final = 0.1
"""Share of the steps after which a feature that was not active is dead."""
_THRESHOLD_BATCHES: Final = 100


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an autoencoder.

    Args:
        features: How many it has.
        dead: Features that no vector has, of all vectors.
        active: Features of a vector, in the mean.
        mse: Mean squared distance of held-out vectors from their reconstruction.
        explained: 1 - mse / variance of the held-out vectors.
        held_out: How many these were.
    """

    features: int
    dead: int
    active: float
    mse: float
    explained: float
    held_out: int


def fit(
    vectors: Vectors,
    member: Member,
    steps: int,
    batch_size: int,
    device: str,
    seen: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Train one autoencoder.

    On a CPU the same vectors in the same order, settings and number of threads give the same bits.

    Args:
        vectors: What it learns from.
        member: What it is.
        steps: Batches.
        batch_size: Vectors a batch.
        device: Where.
        seen: Called with the number of steps done.

    Returns:
        Its tensors on the device, by the names of ``PARTS``.

    Raises:
        FunctionError: The loss is not a number any more (E8310).
    """
    torch: Any = need("torch", "models")
    parts = {name: torch.from_numpy(value).to(device) for name, value in _begin(vectors, member).items()}
    learned = [parts[name].requires_grad_() for name in PARTS if name != "threshold"]
    optimizer = torch.optim.Adam(learned, lr=member.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    idle = torch.zeros(member.expansion * vectors.width, dtype=torch.long, device=device)
    patience = max(1, round(PATIENCE * steps))

    def loss(batch: NDArray[np.float32]) -> Any:
        return _loss(parts, member, torch.from_numpy(batch).to(device), idle, patience, vectors.variance)

    def adjust() -> None:
        _keep_length(parts["decoder.weight"])
        torch.nn.utils.clip_grad_norm_(learned, 1.0)

    batches = islice(vectors.batches(member.seed, batch_size), steps)
    for step, value in enumerate(descend(batches, loss, optimizer, schedule, adjust=adjust)):
        if not math.isfinite(value):
            raise FunctionError(
                f"training of {member.name} diverged in step {step + 1}: the loss is not a number any more",
                code="E8310",
                hint="use a lower learning rate: lr := […]",
            )
        with torch.no_grad():
            parts["decoder.weight"] /= parts["decoder.weight"].norm(dim=0, keepdim=True).clamp(min=1e-12)
        seen(step + 1)
    parts = {name: value.detach() for name, value in parts.items()}
    if member.kind == "batch_top_k":
        parts["threshold"] = _threshold(parts, member, vectors, min(steps, _THRESHOLD_BATCHES), batch_size, device)
    return parts


def _begin(vectors: Vectors, member: Member) -> dict[str, NDArray[np.float32]]:
    """Return first weights: random directions, each read by the encoder as it is written by the decoder."""
    features = member.expansion * vectors.width
    random = np.random.default_rng([member.seed, features])
    directions = random.standard_normal((vectors.width, features)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=0, keepdims=True)
    assert vectors.center is not None  # noqa: S101 - `read` sums before anybody learns
    values = (
        directions.T.copy(),
        np.zeros(features, np.float32),
        directions,
        vectors.center.astype(np.float32),
        np.zeros((), np.float32),
    )
    return dict(zip(PARTS, values, strict=True))


def _rate(step: int, steps: int) -> float:
    rise, fall = max(1.0, RISE * steps), max(1.0, FALL * steps)
    return min(1.0, (step + 1) / rise, (steps - step) / fall)


def _dense(parts: Mapping[str, Any], batch: Any) -> Any:
    torch: Any = need("torch", "models")
    given = batch - parts["center"]
    return torch.relu(torch.nn.functional.linear(given, parts["encoder.weight"], parts["encoder.bias"]))


def _kept(dense: Any, member: Member) -> Any:
    """Return what stays of the activations of a batch while it learns."""
    if member.kind == "top_k":
        return largest(dense, member.k)
    return largest(dense.reshape(1, -1), member.k * len(dense)).reshape(dense.shape)


def _loss(parts: Mapping[str, Any], member: Member, batch: Any, idle: Any, patience: int, variance: float) -> Any:
    torch: Any = need("torch", "models")
    dense = _dense(parts, batch)
    active = _kept(dense, member)
    residual = batch - parts["center"] - torch.nn.functional.linear(active, parts["decoder.weight"])
    loss = residual.square().sum(1).mean() / variance
    fired = (active > 0).any(0)
    idle += 1
    idle[fired] = 0
    dead = idle > patience
    if bool(dead.any()):
        loss = loss + AUXILIARY * _auxiliary(parts, batch, residual.detach(), dead)
    return loss


def _auxiliary(parts: Mapping[str, Any], batch: Any, residual: Any, dead: Any) -> Any:
    """Return how badly dead features explain what the others left, over its variance.

    They are read before the ReLU, which would let no gradient through to a feature that is below zero everywhere.
    """
    torch: Any = need("torch", "models")
    given = batch - parts["center"].detach()
    raw = torch.nn.functional.linear(given, parts["encoder.weight"][dead], parts["encoder.bias"][dead])
    tried = largest(raw, max(1, parts["decoder.weight"].shape[0] // 2))
    error = residual - torch.nn.functional.linear(tried, parts["decoder.weight"][:, dead])
    spread = (residual - residual.mean(0)).square().sum(1).mean().clamp(min=1e-12)
    return error.square().sum(1).mean() / spread


def _keep_length(decoder: Any) -> None:
    """Take from the gradient what would only change lengths of columns."""
    torch: Any = need("torch", "models")
    with torch.no_grad():
        along = (decoder.grad * decoder).sum(0, keepdim=True)
        decoder.grad -= along * decoder


def _threshold(
    parts: Mapping[str, Any], member: Member, vectors: Vectors, batches: int, batch_size: int, device: str
) -> Any:
    """Return mean over batches of the smallest activation that stayed."""
    torch: Any = need("torch", "models")
    found = []
    with torch.inference_mode():
        for batch in islice(vectors.batches(member.seed, batch_size), batches):
            active = _kept(_dense(parts, torch.from_numpy(batch).to(device)), member)
            found.append(active[active > 0].min() if bool((active > 0).any()) else active.sum())
        mean = torch.stack(found).double().mean()
    return mean.float().clone()


def judge(vectors: Vectors, member: Member, parts: Mapping[str, Any], device: str) -> Report:
    """Return what became of it: dead features over all vectors, reconstruction of those that it has not learned from."""
    torch: Any = need("torch", "models")
    model = Autoencoder(member, parts)
    fired = torch.zeros(member.expansion * vectors.width, dtype=torch.bool, device=device)
    active = 0
    error = squares = 0.0
    total = np.zeros(vectors.width)
    with torch.inference_mode():
        for number in vectors.blocks():
            block, kept = vectors.block(number)
            found = model.encode(torch.from_numpy(block).to(device))
            fired |= (found > 0).any(0)
            active += int((found > 0).sum())
            part = block[kept].astype(np.float64)
            again = model.decode(found[torch.from_numpy(kept).to(device)]).double().cpu().numpy()
            error += float(((part - again) ** 2).sum())
            squares += float((part**2).sum())
            total += part.sum(0)
    count = max(1, vectors.held_out)
    variance = squares / count - float(((total / count) ** 2).sum())
    return Report(
        features=len(fired),
        dead=int((~fired).sum()),
        active=active / (vectors.learned + vectors.held_out),
        mse=error / count,
        explained=1 - error / count / variance if variance > 0 else 0.0,
        held_out=vectors.held_out,
    )
