"""Fine-tune a vision tower with a linear head, as Girrbach et al. (2025) do it.

Their recipe: one epoch of the head alone with the tower frozen, at a constant rate; then all weights under OneCycle with
cosine annealing; AdamW, cross-entropy without label smoothing, no augmentation; the epoch of the best validation accuracy
is kept.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import FunctionError
from counterbalance.udfs.models.learning import descend
from counterbalance.udfs.models.running import inference
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from counterbalance.udfs.models.clip_pictures import Preparation
    from counterbalance.udfs.models.settings import Settings

LOWEST_RATE: Final = 1e-6
"""Where OneCycle begins."""
RISE: Final = 0.3
"""Share of OneCycle's steps in which the rate rises."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Prepared pictures with their classes.

    Args:
        pixels: uint8 (pictures, height, width, 3), in memory or mapped from a file.
        places: Where in ``pixels`` the picture of a row is, int64.
        labels: Number of the class, one a row.
        preparation: Makes them the model's input.
    """

    pixels: NDArray[np.uint8]
    places: NDArray[np.int64]
    labels: NDArray[np.int64]
    preparation: Preparation

    def batches(self, order: NDArray[np.int64], size: int, device: str) -> Iterator[tuple[Any, Any]]:
        """Yield the input and classes of the rows in an order; the next batch is read while one is used."""
        torch: Any = need("torch", "models")
        chunks = [order[i : i + size] for i in range(0, len(order), size)]
        with ThreadPoolExecutor(1) as pool:
            ready = [pool.submit(self._read, chunk) for chunk in chunks[:1]]
            for number, chunk in enumerate(chunks):
                pixels = ready.pop().result()
                if number + 1 < len(chunks):
                    ready.append(pool.submit(self._read, chunks[number + 1]))
                yield (
                    self.preparation.tensor(torch.from_numpy(pixels).to(device)),
                    torch.from_numpy(self.labels[chunk]).to(device),
                )

    def _read(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        return self.pixels[self.places[rows]]


@dataclass(frozen=True, slots=True)
class Epoch:
    """What became of an epoch.

    Args:
        number: From 1.
        train_loss: Mean cross-entropy while it was trained.
        validation_loss: Mean cross-entropy after it.
        validation_accuracy: Share that is right after it.
    """

    number: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float


def fit(
    model: Any,
    examples: Examples,
    train: NDArray[np.int64],
    validation: NDArray[np.int64],
    settings: Settings,
    device: str,
    *,
    keep: Callable[[Any, Epoch], None],
    seen: Callable[[int, int, int], None] = lambda *_: None,
) -> list[Epoch]:
    """Train a model with the parts ``tower`` and ``head``.

    Args:
        model: On the device, float32.
        examples: All pictures.
        train: Rows to learn from.
        validation: Rows that choose the epoch.
        settings: How.
        device: Where.
        keep: Called with the model and the epoch after every one that is the best so far, by ``rank``.
        seen: Called with the epoch, its pictures, and how many are done.

    Returns:
        All epochs.

    Raises:
        FunctionError: The loss is not a number any more, or the device's memory is too small.
    """
    torch: Any = need("torch", "models")
    done: list[Epoch] = []
    best: Epoch | None = None
    try:
        for number in range(1, settings.epochs + 1):
            if number <= 2:
                optimizer, schedule = _begin(model, number == 1, settings, -(-len(train) // settings.batch_size))
            order = np.random.default_rng([settings.seed, number]).permutation(train)
            report = partial(seen, number, len(order))
            loss = _train(model, examples, order, settings, device, optimizer, schedule, report)
            logits = ask(model, examples, validation, settings.batch_size, device)
            epoch = Epoch(number, loss, *_judged(logits, examples.labels[validation]))
            if not math.isfinite(loss + epoch.validation_loss):
                raise FunctionError(
                    f"training diverged in epoch {number}: the loss is not a number any more",
                    code="E8310",
                    hint="use lower learning rates: --lr, --tower-lr",
                )
            done.append(epoch)
            if best is None or rank(epoch) > rank(best):
                best = epoch
                keep(model, epoch)
    except torch.cuda.OutOfMemoryError as error:
        raise FunctionError(
            f"{settings.batch_size} pictures at once are too many for the memory of {device}",
            code="E8150",
            hint="use a smaller --batch-size",
        ) from error
    return done


def rank(epoch: Epoch) -> tuple[float, float]:
    """Return what epochs are compared by: higher validation accuracy, and then a lower loss."""
    return epoch.validation_accuracy, -epoch.validation_loss


def _begin(model: Any, head_only: bool, settings: Settings, steps: int) -> tuple[Any, Any]:
    """Return the optimizer and schedule of the first epoch, or of all others."""
    torch: Any = need("torch", "models")
    model.tower.requires_grad_(not head_only)
    if head_only:
        return torch.optim.AdamW(model.head.parameters(), lr=settings.lr), None
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.tower_lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=settings.tower_lr,
        total_steps=(settings.epochs - 1) * steps,
        pct_start=RISE,
        anneal_strategy="cos",
        div_factor=max(1.0, settings.tower_lr / LOWEST_RATE),
    )
    return optimizer, schedule


def _train(
    model: Any,
    examples: Examples,
    order: NDArray[np.int64],
    settings: Settings,
    device: str,
    optimizer: Any,
    schedule: Any,
    seen: Callable[[int], None],
) -> float:
    """Train one epoch; returns the mean loss. A frozen tower is not changed, its running statistics neither."""
    torch: Any = need("torch", "models")
    model.train()
    if schedule is None:
        model.tower.eval()
    sizes = []

    def loss(batch: tuple[Any, Any]) -> Any:
        pixels, labels = batch
        sizes.append(len(labels))
        with torch.autocast("cuda", torch.bfloat16, enabled=device.startswith("cuda")):
            logits = model(pixels)
        return torch.nn.functional.cross_entropy(logits.float(), labels)

    total = 0.0
    for value in descend(examples.batches(order, settings.batch_size, device), loss, optimizer, schedule):
        total += value * sizes[-1]
        seen(sum(sizes))
    return total / sum(sizes)


def ask(model: Any, examples: Examples, rows: NDArray[np.int64], size: int, device: str) -> NDArray[np.float32]:
    """Return the logits of some rows, float32 (rows, classes)."""
    model.eval()
    found = []
    with inference(device):
        for pixels, _ in examples.batches(rows, size, device):
            found.append(model(pixels).float().cpu().numpy())
    return np.concatenate(found)


def _judged(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy."""
    values = logits.astype(np.float64)
    top = values.max(1)
    surprise = np.log(np.exp(values - top[:, None]).sum(1)) + top - values[np.arange(len(labels)), labels]
    return float(surprise.mean()), float((values.argmax(1) == labels).mean())
