"""Train a classifier from labels of a lake: what ``counterbalance train classifier`` does.

Pictures are read once, prepared as the model wants them, and kept as eight-bit pixels in a file beside the output while
training runs; so neither memory nor decoding bounds it. The output appears whole or not at all.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.devices import available
from counterbalance.engine.progress import Progress
from counterbalance.engine.store.location import local_path
from counterbalance.udfs.models import card, classifier, fitting, labelled, learning, scores
from counterbalance.udfs.models.ahead import in_order
from counterbalance.udfs.models.settings import DEFAULTS, Settings, grid, of_preset
from counterbalance.udfs.models.shared import loading
from counterbalance.udfs.models.weights import digest, need

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from counterbalance.engine.lake import Lake
    from counterbalance.udfs.models.classifier import Beginning
    from counterbalance.udfs.models.clip_pictures import Preparation
    from counterbalance.udfs.models.labelled import Encoded, Labelled, Pictures

SPLITS: Final = ("train", "validation", "test")
SHARES: Final = (0.8, 0.1, 0.1)
"""As Girrbach et al. (2025) divide their labels."""


def split(classes: Sequence[Hashable], groups: Sequence[Hashable], seed: int) -> NDArray[np.int8]:
    """Return the number of the split of every row: 0 train, 1 validation, 2 test.

    Rows of one group stay together, so that the persons of one image are never on two sides. Groups are given out class by
    class, the class with the fewest groups left first, in the order of a hash of seed and group, each to the split that
    lacks most of its share of that class (iterative stratification, Sechidis et al. 2011, with a fixed order for ties).

    Args:
        classes: Class of every row.
        groups: Group of every row, such as an image id; told apart and hashed by ``repr``.
        seed: Another seed, another split.

    Returns:
        int8, one a row.

    Example:
        >>> split(["a"] * 10, range(10), seed=0).tolist()
        [0, 0, 0, 2, 0, 0, 0, 0, 0, 1]
    """
    shown: dict[Hashable, set[Hashable]] = {}
    for label, group in zip(classes, groups, strict=True):
        shown.setdefault(group, set()).add(label)
    left: dict[Hashable, list[Hashable]] = {}
    for group in sorted(shown, key=lambda g: _order(seed, g)):
        for label in shown[group]:
            left.setdefault(label, []).append(group)
    lacking = {label: [share * len(found) for share in SHARES] for label, found in left.items()}
    every = [share * len(shown) for share in SHARES]
    side: dict[Hashable, int] = {}
    while left:
        label = min(left, key=lambda c: (len(left[c]), repr(c)))
        for group in left[label]:
            where = side[group] = _most(lacking[label], every)
            for needs in (every, *(lacking[c] for c in shown[group])):
                needs[where] -= 1
        left = {c: kept for c, found in left.items() if (kept := [g for g in found if g not in side])}
    return np.array([side[g] for g in groups], np.int8)


def _order(seed: int, group: Hashable) -> bytes:
    return hashlib.sha256(f"{seed} {group!r}".encode()).digest()


def _most(lacking: Sequence[float], every: Sequence[float]) -> int:
    """Return the split that lacks most; of equals the one that lacks most groups of all, then the earlier one."""
    return max(range(len(SHARES)), key=lambda i: (round(lacking[i], 6), round(every[i], 6), -i))


@dataclass(frozen=True, slots=True)
class Trained:
    """What became of a training.

    Args:
        output: The folder.
        attribute: What the classifier tells.
        classes: In the order of the logits.
        trained: ``False`` when the folder held this very classifier already.
        labels: Labels that had a picture; ``None`` where there are too few to tell.
        without_picture: Labels that had none.
        best_epoch: The epoch whose weights were kept.
        test: Scores on the test split, without small cells.
        seconds: How long it took.
    """

    output: str
    attribute: str
    classes: tuple[str, ...]
    trained: bool
    labels: int | None
    without_picture: int | None
    best_epoch: int
    test: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {**asdict(self), "classes": list(self.classes)}


def train(
    lake: Lake,
    *,
    labels: str,
    attribute: str,
    output: str | Path,
    images: str | None = None,
    preset: str | None = None,
    model: str | None = None,
    epochs: int | Sequence[int] | None = None,
    seed: int = DEFAULTS.seed,
    batch_size: int | Sequence[int] | None = None,
    lr: float | None = None,
    tower_lr: float | Sequence[float] | None = None,
    device: str = "auto",
    sensitive: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Fine-tune a vision tower with a linear head on labels of persons (Girrbach et al. 2025, section 3).

    Of several epochs, batch sizes or rates every combination is trained, as in the paper's study of them, and the one with
    the highest accuracy on the validation split is kept; only that one is asked about the test split.

    The same labels, pictures, model and settings give the same classifier; on a CPU, the same bits. The labels are
    perceived ones: what a classifier learns from them tells how groups are depicted, never who a person is.

    Args:
        lake: The lake.
        labels: Relation of (``detection_id``, ``value``), one label a box: a table, a view, a call or ``(SELECT …)``; of one
            with a column ``attribute``, such as ``labels``, only the rows of ``attribute`` are taken.
        attribute: What is labelled; a checkpoint is asked for by this name.
        output: A new folder.
        images: Relation of (``detection_id``, ``image`` as bytes); crops of ``images.image`` to the boxes of persons without.
        preset: Settings of a paper by name (``settings.PRESETS``); what is given beside it wins.
        model: open_clip's ``name/pretrained``, ``hf-hub:…`` or a folder; ``ViT-B-16-SigLIP/webli`` without.
        epochs: In all; the first trains the head alone. One number, or several; 10 without.
        seed: Of split, head and order.
        batch_size: Pictures a step; one number, or several; 32 without.
        lr: Learning rate of the head in the first epoch; 1e-3 without.
        tower_lr: Highest learning rate of all weights after it; one, or several; 1e-5 without.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` …
        sensitive: The purpose for which perceived labels are read; it goes into the access log.
        progress: Called as pictures are read and learned from.

    Returns:
        What was done; ``trained`` is ``False`` when ``output`` holds this very classifier.

    Raises:
        NotFoundError: No such relation, attribute or model.
        RequestError: Labels are too few or doubled, there are no pictures, the folder holds something else, or no preset is
            called so.
        BusyError: Another training writes this folder.

    Example:
        >>> train(lake, labels="labels", attribute="posture", output="posture/")  # doctest: +SKIP
    """
    of = of_preset(preset)
    model = of.model if model is None else model
    settings = grid(
        of.epochs if epochs is None else epochs,
        seed,
        of.batch_size if batch_size is None else batch_size,
        of.lr if lr is None else lr,
        of.tower_lr if tower_lr is None else tower_lr,
    )
    began = time.monotonic()
    target = local_path(output).expanduser().absolute()
    with lake.session(sensitive=sensitive) as session:
        rows = labelled.read(session, labels, attribute)
        labelled.require_enough(rows)
        pictures = labelled.Pictures(lake.location, session, images)
        start = classifier.beginning(model)
        facts = {
            "lake": lake.uri,
            "labels": labels,
            "labels_digest": rows.digest(),
            "images": images,
            "began_with": start.digest,
            "settings": [asdict(s) for s in settings] if len(settings) > 1 else asdict(settings[0]),
        }
        key = _fingerprint(attribute, start, pictures, facts)
        if (found := _finished(target, key)) is not None:
            return found
        tables = {n: v for n, v in sorted(session.versions.items()) if "/" not in n}
        with learning.workplace(target) as place:
            run = _Run(target, place, attribute, start, settings, available(device, wants=True)[0], progress)
            config = {learning.KEY: key, "training": {**facts, "tables": tables}}
            result = run.all(rows, pictures, config)
    return _as_trained(target, result, trained=True, seconds=time.monotonic() - began)


@functools.wraps(train)
def train_classifier(*args: Any, **options: Any) -> str:
    """Call ``train`` for recipes; returns a line that says what was done."""
    done = train(*args, **options)
    what = "trained" if done.trained else "was there already"
    return f"{done.attribute} ({', '.join(done.classes)}) {what}: {done.output}"


def _fingerprint(attribute: str, start: Beginning, pictures: Pictures, facts: Mapping[str, Any]) -> str:
    """Return the digest of everything that decides the result; not of where the lake lies or what a relation is called."""
    told = [
        attribute,
        facts["labels_digest"],
        facts["settings"],
        pictures.digest(),
        start.digest,
        {**start.architecture.to_dict(), "name": None},
        classifier.described(start.preparation),
        classifier.FORMAT,
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def _finished(target: Path, key: str) -> Trained | None:
    """Return what the folder holds already.

    Raises:
        RequestError: It holds something else (E3559).
    """

    def read() -> Trained | None:
        config = classifier.checkpoint(target).config
        same = config.get(learning.KEY) == key and config.get("weights") == digest(target / classifier.MODEL)
        return _as_trained(target, config, trained=False) if same else None

    otherwise = RequestError(
        f"{target} holds something else than this classifier",
        code="E3559",
        hint="name another folder for --output, or remove this one; other labels or settings make another classifier",
    )
    return learning.finished(target, read, otherwise)


def _as_trained(target: Path, config: Mapping[str, Any], *, trained: bool, seconds: float = 0.0) -> Trained:
    training = config["training"]
    counts = [training["splits"][name] for name in SPLITS]
    return Trained(
        str(target),
        config["attribute"],
        tuple(config["classes"]),
        trained,
        None if None in counts else sum(counts),
        training["without_picture"],
        training["best_epoch"],
        training["test"],
        seconds,
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    """Settings, and the epochs of a training with them."""

    settings: Settings
    epochs: list[fitting.Epoch]

    @property
    def best(self) -> fitting.Epoch:
        return max(self.epochs, key=fitting.rank)

    def told(self) -> dict[str, Any]:
        best = self.best
        return {
            **asdict(self.settings),
            "best_epoch": best.number,
            "validation_accuracy": best.validation_accuracy,
            "validation_loss": best.validation_loss,
        }


@dataclass(frozen=True, slots=True)
class _Run:
    """One training, step by step."""

    target: Path
    place: Path
    attribute: str
    start: Beginning
    settings: tuple[Settings, ...]
    device: str
    progress: Callable[[Progress], None] | None

    def all(self, rows: Labelled, pictures: Pictures, config: dict[str, Any]) -> dict[str, Any]:
        """Read, divide, train, judge, write; returns what ``config.json`` holds."""
        torch: Any = need("torch", "models")
        pixels, there = self._read(rows, pictures)
        without = len(rows) - int(there.sum())
        if not there.any():
            raise labelled.none(f"not one of {len(rows):,} labels has one that can be read")
        rows = rows.only(there)
        labelled.require_enough(rows)
        examples = fitting.Examples(pixels, np.flatnonzero(there), rows.labels, self.start.preparation)
        side = split(rows.labels.tolist(), rows.images.tolist(), self.settings[0].seed)
        parts = {name: np.flatnonzero(side == i) for i, name in enumerate(SPLITS)}
        self._require_all(rows, parts)
        cuda = [self.device] if self.device.startswith("cuda") else []
        best: _Tried | None = None
        tried = []
        for settings in self.settings:
            with torch.random.fork_rng(devices=cuda):
                torch.manual_seed(settings.seed)
                tower = self._tower()
                model = classifier.assembled(tower, self.start.architecture.embed_dim, len(rows.classes))
                found = self._fit(model.to(self.device), examples, parts, settings, best)
            tried.append(found.told())
            best = found if best is None or fitting.rank(found.best) > fitting.rank(best.best) else best
        assert best is not None  # noqa: S101 - there is one at least
        self._load(model)
        logits = fitting.ask(model, examples, parts["test"], best.settings.batch_size, self.device)
        judged = scores.score(rows.classes, rows.labels[parts["test"]], logits)
        config["training"] |= {
            "without_picture": scores.count(without) if without else 0,
            "splits": _sizes(parts, judged.published()["n"]),
            "settings": asdict(best.settings),
            "tried": tried if len(tried) > 1 else [],
            "epochs": [asdict(e) for e in best.epochs],
            "best_epoch": best.best.number,
            "test": judged.published(),
            "device": self.device,
            "libraries": {n: version(n) for n in ("counterbalance", "open_clip_torch", "torch", "timm")},
        }
        return self._write(rows.classes, config)

    def _read(self, rows: Labelled, pictures: Pictures) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return prepared pixels of every row, mapped from a file, and which rows have any."""
        prepare = self.start.preparation
        shape = (len(rows), prepare.height, prepare.width, 3)
        each = int(np.prod(shape[1:]))
        there = np.zeros(len(rows), bool)
        file = self.place / "pixels"
        with file.open("wb") as out:
            out.truncate(each * len(rows))
            for found in _ahead(pictures(rows), prepare):
                for row, data in found.items():
                    out.seek(each * row)
                    out.write(data.data)
                    there[row] = True
                self._tell("reading pictures", int(there.sum()), len(rows))
        return np.memmap(file, np.uint8, "r", shape=shape), there

    def _require_all(self, rows: Labelled, parts: Mapping[str, NDArray[np.int64]]) -> None:
        """Refuse splits that lack a class; only classes that share their images with rarer ones can fail this."""
        for part in parts.values():
            missing = set(range(len(rows.classes))) - set(rows.labels[part].tolist())
            if missing:
                names = [rows.classes[i] for i in sorted(missing)]
                raise labelled.too_few(names, "not in every split, for they share their images with rarer classes")

    def _tower(self) -> Any:
        with loading():
            return self.start.tower()

    def _fit(
        self,
        model: Any,
        examples: fitting.Examples,
        parts: Mapping[str, NDArray[np.int64]],
        settings: Settings,
        best: _Tried | None,
    ) -> _Tried:
        """Train with one combination of settings; the weights are kept where they are better than those of all before."""
        files: Any = need("safetensors.torch", "models")

        def keep(model: Any, epoch: fitting.Epoch) -> None:
            if best is None or fitting.rank(epoch) > fitting.rank(best.best):
                state = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
                files.save_file(state, self.place / classifier.MODEL, metadata={"format": "pt"})

        number, of = self.settings.index(settings) + 1, len(self.settings)
        which = f" with settings {number} of {of}" if of > 1 else ""

        def seen(epoch: int, total: int, done: int) -> None:
            self._tell(f"epoch {epoch} of {settings.epochs}{which}", done, total)

        validation = parts["validation"]
        epochs = fitting.fit(model, examples, parts["train"], validation, settings, self.device, keep=keep, seen=seen)
        return _Tried(settings, epochs)

    def _load(self, model: Any) -> None:
        files: Any = need("safetensors.torch", "models")
        model.load_state_dict(files.load_file(self.place / classifier.MODEL))

    def _write(self, classes: tuple[str, ...], config: dict[str, Any]) -> dict[str, Any]:
        """Put the folder in its place, in one step."""
        done = self.place / "done"
        done.mkdir()
        (self.place / classifier.MODEL).rename(done / classifier.MODEL)
        whole = {
            "format": classifier.FORMAT,
            "attribute": self.attribute,
            "classes": list(classes),
            "architecture": self.start.architecture.to_dict(),
            "preprocessing": classifier.described(self.start.preparation),
            "weights": digest(done / classifier.MODEL),
            **config,
        }
        (done / classifier.CONFIG).write_text(json.dumps(whole, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (done / classifier.CARD).write_text(card.write(whole), encoding="utf-8")
        shutil.copymode(done / classifier.CONFIG, done / classifier.MODEL)
        done.replace(self.target)
        return whole

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, done, total, "rows", done))


def _ahead(pictures: Iterator[Encoded], prepare: Preparation) -> Iterator[Mapping[int, NDArray[np.uint8]]]:
    """Yield prepared pictures in order; Pillow works in threads, a few pictures ahead of what is written."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        yield from in_order(pool, lambda picture: picture.prepared(prepare), pictures, 2 * cores)


def _sizes(parts: Mapping[str, NDArray[np.int64]], tested: int | None) -> dict[str, int | None]:
    """Return how many labels each split has; where the number of those that are tested is left out, the sum of the others is left out, too."""
    return {name: scores.count(len(part)) for name, part in parts.items()} | {"test": tested}
