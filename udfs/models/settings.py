"""Hold the settings of a training and their defaults: read by the command line, and so without heavy imports."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import RequestError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL: Final = "ViT-B-16-SigLIP/webli"
"""What Girrbach et al. (2025) fine-tune."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold how a classifier is trained.

    Where the paper's two classifiers differ, the defaults are what its first study finds good for whatever batch: 10 epochs and
    1e-5 (E.2); ``PRESETS`` have what it chose for each.

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


DEFAULTS: Final = Settings()


@dataclass(frozen=True, slots=True)
class Preset:
    """Hold the settings of a training that a paper has, and the section that says so; several values are all tried."""

    source: str
    epochs: tuple[int, ...]
    batch_size: tuple[int, ...]
    tower_lr: tuple[float, ...]
    model: str = MODEL
    lr: float = 1e-3


PRESETS: Final[Mapping[str, Preset]] = {
    "paper_gender": Preset("Girrbach et al. (2025), D: chosen for gender", (2,), (32,), (5e-6,)),
    "paper_gender_grid": Preset(
        "Girrbach et al. (2025), D: all that was tried for gender, with the model that was chosen of three",
        (2, 5, 10, 15),
        (16, 32, 128),
        (5e-5, 1e-5, 5e-6),
    ),
    "paper_race": Preset("Girrbach et al. (2025), E.2: chosen for race or ethnicity", (20,), (16,), (1e-5,)),
    "paper_race_grid": Preset(
        "Girrbach et al. (2025), E.2: tried first for race or ethnicity",
        (1, 10, 20, 50),
        (16, 32, 128),
        (1e-4, 5e-5, 1e-5),
    ),
    "paper_race_grid_2": Preset(
        "Girrbach et al. (2025), E.2: tried then for race or ethnicity",
        (10, 15, 20),
        (32, 64, 128, 256),
        (2e-5, 1e-5, 5e-6),
    ),
}
"""By name. The other two models of D are ``ViT-B-16`` and ``ViT-L-14-quickgelu``; whose weights they began with is not printed."""


def of_preset(name: str | None) -> Preset:
    """Return a preset by its name, and the defaults for none.

    Raises:
        RequestError: There is no such preset (E3051).

    Example:
        >>> of_preset("paper_race").epochs, of_preset(None).epochs
        ((20,), (10,))
    """
    if name is None:
        d = DEFAULTS
        return Preset("", (d.epochs,), (d.batch_size,), (d.tower_lr,), lr=d.lr)
    if name not in PRESETS:
        told = f"there is no preset {name!r} of a training{did_you_mean(name, PRESETS)}"
        raise RequestError(told, code="E3051", hint="presets: " + ", ".join(PRESETS))
    return PRESETS[name]


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
