"""Hold the settings of a training and their defaults: read by the command line, and so without heavy imports."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from counterbalance.engine.errors import RequestError

MODEL: Final = "ViT-B-16-SigLIP/webli"
"""What Girrbach et al. (2025) fine-tune."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train; the defaults are the paper's.

    Args:
        epochs: In all, the first of which trains the head alone.
        seed: Of the head's first weights, dropout and the order of pictures.
        batch_size: Pictures a step.
        lr: Learning rate of the head in the first epoch.
        tower_lr: Highest learning rate of all weights in the epochs after it.
    """

    epochs: int = 10
    seed: int = 0
    batch_size: int = 32
    lr: float = 1e-3
    tower_lr: float = 1e-5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value) or (name != "seed" and value <= 0):
                raise RequestError(f"{name} is {value}; it must be above zero", code="E3051")


PAPER: Final = Settings()
"""The defaults."""


def grid(
    epochs: int | Sequence[int],
    seed: int,
    batch_size: int | Sequence[int],
    lr: float,
    tower_lr: float | Sequence[float],
) -> tuple[Settings, ...]:
    """Return every combination of what is given as several values, in the order given.

    Raises:
        RequestError: One makes no sense, or there is none (E3051).

    Example:
        >>> [(s.epochs, s.batch_size) for s in grid([2, 5], 0, [16, 32], 1e-3, 1e-5)]
        [(2, 16), (2, 32), (5, 16), (5, 32)]
    """
    epochs = epochs if isinstance(epochs, Sequence) else (epochs,)
    batch_size = batch_size if isinstance(batch_size, Sequence) else (batch_size,)
    tower_lr = tower_lr if isinstance(tower_lr, Sequence) else (tower_lr,)
    several = dict.fromkeys(itertools.product(epochs, batch_size, tower_lr))
    made = tuple(Settings(e, seed, b, lr, t) for e, b, t in several)
    if not made:
        raise RequestError("epochs, batch_size and tower_lr need a value each", code="E3051")
    return made
