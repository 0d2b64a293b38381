"""``CALL train_sae(…)``: sparse autoencoders of a column of vectors, a grid of them in one folder.

Vectors are streamed, in every epoch anew: memory is bounded by one autoencoder and some blocks of vectors.
The folder appears whole or not at all; what a killed training had finished is taken up by the next one.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.devices import available
from counterbalance.engine.progress import Progress
from counterbalance.engine.store.location import local_path
from counterbalance.udfs.models import learning, sae_fitting, sae_vectors
from counterbalance.udfs.models.sae_model import CONFIG, FORMAT, KINDS, STRIDE, Checkpoint, Member, checkpoint
from counterbalance.udfs.models.weights import digest, need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from counterbalance.engine.lake import Lake
    from counterbalance.udfs.models.sae_vectors import Vectors

REPORT: Final = pa.schema(
    [
        ("sae", pa.int32()),
        ("kind", pa.string()),
        ("lr", pa.float64()),
        ("expansion", pa.int32()),
        ("k", pa.int32()),
        ("seed", pa.int64()),
        ("features", pa.int32()),
        ("dead", pa.int32()),
        ("dead_share", pa.float64()),
        ("active", pa.float64()),
        ("mse", pa.float64()),
        ("explained", pa.float64()),
        ("vectors", pa.int64()),
        ("held_out", pa.int64()),
        ("trained", pa.bool_()),
    ]
)


def train_sae(
    lake: Lake,
    *,
    vectors: str,
    output: str | Path,
    column: str = "embedding",
    kinds: Sequence[str] = KINDS,
    lr: Sequence[float] = (1e-3,),
    expansion: Sequence[int] = (4,),
    k: Sequence[int] = (32,),
    seeds: Sequence[int] = (0,),
    steps: int = 2000,
    batch_size: int = 1024,
    device: str = "auto",
    sensitive: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> pa.Table:
    """Train sparse autoencoders of vectors, one for every combination of settings.

    A folder that holds these very autoencoders is left alone, whatever else has changed in the table. The same vectors in
    the same order give, on a CPU with the same number of threads, the same bits. Every twentieth row is held out.

    Args:
        lake: The lake.
        vectors: A table, a materialized view, a call or ``(SELECT …)``, whose rows come in the order that it gives them.
        output: A new folder: ``config.json``, and a ``.safetensors`` file for each.
        column: Its column of vectors, fixed-size lists of float32; rows without one are left out.
        kinds: ``'top_k'``, ``'batch_top_k'``.
        lr: Learning rates.
        expansion: Features for each dimension of the vectors.
        k: Features that a vector keeps.
        seeds: Of first weights and order.
        steps: Batches that each learns from, over as many epochs as it takes.
        batch_size: Vectors a batch.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` …
        sensitive: The purpose for which a closed table is read; it goes into the access log.
        progress: Called as they learn.

    Returns:
        A row for each autoencoder: its number (``sae``), settings, features, those that no vector has (``dead``), features of
        a vector in the mean (``active``), squared error and explained variance of the reconstruction of held-out vectors;
        ``trained`` is false when the folder was there.

    Raises:
        NotFoundError: No such table or column (E1311).
        RequestError: Settings that make no sense (E3051), a folder that holds something else (E3559), or vectors that cannot
            be learned from (E3713 to E3702).
        FunctionError: Training diverged (E8310).
        BusyError: Another training writes this folder.

    Example:
        >>> train_sae(lake, vectors="people", column="caption_embedding", output="sae/", k=[16, 32])  # doctest: +SKIP
    """
    members = _grid(kinds, lr, expansion, k, seeds)
    _check(members, steps=steps, batch_size=batch_size)
    target = local_path(output).expanduser().absolute()
    with lake.session(sensitive=sensitive) as session, sae_vectors.spool() as folder:
        given = sae_vectors.read(session, lake.location, vectors, column, folder)
        _check_features(members, given.width)
        key = _fingerprint(given, members, steps, batch_size)
        found = _finished(target, key)
        if found is not None:
            return _table(found, trained=False)
        with learning.workplace(target, key) as place:
            run = _Run(given, members, steps, batch_size, available(device, wants=True)[0], place, progress)
            reports = [run.one(number) for number in range(len(members))]
            _publish(target, place, members, reports, key, given, {"steps": steps, "batch_size": batch_size})
    return _table(checkpoint(target), trained=True)


def _grid(
    kinds: Sequence[str], lr: Sequence[float], expansion: Sequence[int], k: Sequence[int], seeds: Sequence[int]
) -> list[Member]:
    lists = {"kinds": kinds, "lr": lr, "expansion": expansion, "k": k, "seeds": seeds}
    given: dict[str, list[Any]] = {n: list(v) if isinstance(v, list | tuple) else [v] for n, v in lists.items()}
    empty = [n for n, v in given.items() if not v]
    if empty:
        raise _wrong(empty[0], "[]", "with at least one value")
    unknown = [x for x in given["kinds"] if x not in KINDS]
    if unknown:
        raise _wrong("kinds", unknown[0], f"one of {', '.join(KINDS)}")
    for name, least, whole in (("lr", 0, False), ("expansion", 1, True), ("k", 1, True), ("seeds", 0, True)):
        for value in given[name]:
            right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not right or not math.isfinite(value) or value < least or (name == "lr" and value == 0):
                raise _wrong(name, value, "above 0" if name == "lr" else f"a whole number from {least}")
    rows = product(given["kinds"], map(float, given["lr"]), given["expansion"], given["k"], given["seeds"])
    return sorted({Member(*row) for row in rows}, key=lambda m: (KINDS.index(m.kind), m.lr, m.expansion, m.k, m.seed))


def _wrong(name: str, value: Any, wanted: str) -> RequestError:
    return RequestError(f"{name!r} of train_sae() is {value!r}; it must be {wanted}", code="E3051")


def _check(members: Sequence[Member], **counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise _wrong(name, value, "a whole number from 1")
    names = [m.name for m in members]
    if len(set(names)) != len(names):
        raise _wrong("lr", [m.lr for m in members], "different in its first six digits")


def _check_features(members: Sequence[Member], width: int) -> None:
    for member in members:
        features = member.expansion * width
        if features > STRIDE:
            raise _wrong("expansion", member.expansion, f"at most {STRIDE // width} for vectors of {width} numbers")
        if member.k >= features:
            raise _wrong("k", member.k, f"below the number of features, {features}")


def _fingerprint(vectors: Vectors, members: Sequence[Member], steps: int, batch_size: int) -> str:
    """Return the digest of everything that decides the result, but for the order in which rows lie."""
    parts = [FORMAT, vectors.digest, [m.to_dict() for m in members], steps, batch_size]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _finished(target: Path, key: str) -> Checkpoint | None:
    """Return what the folder holds already.

    Raises:
        RequestError: It holds something else (E3559).
    """

    def read() -> Checkpoint | None:
        found = checkpoint(target)
        kept = {m.name: digest(found.file(m)) for m in found.members}
        same = found.config[learning.KEY] == key and kept == {m["name"]: m["weights"] for m in found.config["members"]}
        return found if same else None

    otherwise = RequestError(
        f"{target} holds something else than these autoencoders",
        code="E3559",
        hint="name another folder as output, or remove this one; other vectors or settings make other autoencoders",
    )
    return learning.finished(target, read, otherwise)


class _Run:
    """A training, autoencoder by autoencoder."""

    def __init__(
        self,
        vectors: Vectors,
        members: Sequence[Member],
        steps: int,
        batch_size: int,
        device: str,
        place: Path,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.vectors, self.members, self.steps, self.batch_size = vectors, members, steps, batch_size
        self.device, self.place, self.progress = device, place, progress

    def one(self, number: int) -> dict[str, Any]:
        """Train one and keep it in the workplace, unless it is there; returns its entry in the configuration."""
        member = self.members[number]
        note, file = (self.place / f"{member.name}.{ending}" for ending in ("json", "safetensors"))
        if note.is_file() and file.is_file():
            kept: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
            return kept
        files: Any = need("safetensors.torch", "models")
        stage = f"autoencoder {number + 1} of {len(self.members)}, {member.name}"
        parts = sae_fitting.fit(
            self.vectors, member, self.steps, self.batch_size, self.device, lambda step: self._tell(stage, step)
        )
        report = asdict(sae_fitting.judge(self.vectors, member, parts, self.device))
        files.save_file({name: value.cpu().contiguous() for name, value in parts.items()}, file)
        entry = {"name": member.name, "settings": member.to_dict(), "weights": digest(file), "report": report}
        written = note.with_suffix(".part")
        written.write_text(json.dumps(entry), encoding="utf-8")
        shutil.copymode(written, file)
        written.replace(note)
        return entry

    def _tell(self, stage: str, step: int) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, step, self.steps, "rows", step * min(self.batch_size, self.vectors.learned)))


def _publish(
    target: Path,
    place: Path,
    members: Sequence[Member],
    reports: Sequence[Mapping[str, Any]],
    key: str,
    vectors: Vectors,
    settings: Mapping[str, Any],
) -> None:
    """Put the folder in its place, in one step."""
    done = place / "done"
    shutil.rmtree(done, ignore_errors=True)
    done.mkdir()
    for member in members:
        file = f"{member.name}.safetensors"
        (place / file).rename(done / file)
    config = {
        "format": FORMAT,
        learning.KEY: key,
        "width": vectors.width,
        "vectors": vectors.learned + vectors.held_out,
        "training": {**settings, "column": vectors.column, "vectors_digest": vectors.digest},
        "members": list(reports),
    }
    (done / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    done.replace(target)


def _table(found: Checkpoint, *, trained: bool) -> pa.Table:
    rows = [
        {
            "sae": number,
            **entry["settings"],
            **entry["report"],
            "dead_share": entry["report"]["dead"] / entry["report"]["features"],
            "vectors": found.config["vectors"],
            "trained": trained,
        }
        for number, entry in enumerate(found.config["members"])
    ]
    return pa.Table.from_pylist(rows, REPORT)
