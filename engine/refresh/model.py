"""What a refresh is asked for, and what it tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from counterbalance.engine.catalog.closed import without_counts
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.registry import executor

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Mode = Literal["rebuild", "incremental", "no_op", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to refresh.

    Args:
        full: Compute everything again.
        retry_errors: Try rows again that failed.
        due: Only what its schedule says.
        executor: ``local``, ``inline``, ``ray`` …
        workers: Worker processes; the executor decides when left out.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.
        batch_size: Rows a function gets at once; what it likes when left out.
        udfs: Files of the user's own functions; one alone may be a string.
        wait: Seconds to wait for a writer before publishing.
    """

    full: bool = False
    retry_errors: bool = False
    due: bool = False
    executor: str = "local"
    workers: int | None = None
    device: str = "auto"
    batch_size: int | None = None
    udfs: tuple[str, ...] | str = ()
    wait: float = 3600.0

    def __post_init__(self) -> None:
        """Refuse what no refresh can do, before anything is looked at."""
        for name in ("full", "retry_errors", "due"):
            if not isinstance(getattr(self, name), bool):
                raise RequestError(f"{name} must be true or false, not {getattr(self, name)!r}", code="E3427")
        for name in ("workers", "batch_size"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise RequestError(f"{name} must be a whole number of at least 1, not {value!r}", code="E3427")
        executor(self.executor, workers=self.workers, device=self.device)

    @property
    def files(self) -> tuple[str, ...]:
        """Return ``udfs`` as a tuple."""
        return (self.udfs,) if isinstance(self.udfs, str) else tuple(self.udfs)


@dataclass(slots=True)
class Stage:
    """One stage of a refresh: what was to be done, why, and what came of it.

    Of something closed the numbers of rows are ``None`` where nobody stated a purpose (``untold``).

    Args:
        target: Column, view or index.
        kind: ``column``, ``view`` or ``index``.
        reason: Why it is stale; empty when it is fresh.
        mode: ``rebuild``, ``incremental``, ``no_op``, ``failed`` or ``skipped``.
        rows: Rows computed (of a column), read (of a view) or indexed.
        written: Rows added.
        updated: Rows changed.
        deleted: Rows removed.
        errors: Rows whose function failed.
        seconds: Wall time.
        fingerprint: Of the definition and everything it stands on.
        versions_in: Version of every relation that was read.
        versions_out: Version of the table that was written.
        message: What went wrong, or what a person should know.
        code: Code of the error, if it failed.
        hint: What to do about it.
    """

    target: str
    kind: str
    reason: str = ""
    mode: Mode = "no_op"
    rows: int = 0
    written: int = 0
    updated: int = 0
    deleted: int = 0
    errors: int = 0
    seconds: float = 0.0
    fingerprint: str = ""
    versions_in: dict[str, int] = field(default_factory=dict)
    versions_out: dict[str, int] = field(default_factory=dict)
    message: str = ""
    code: str | None = None
    hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    def untold(self, above: Collection[str] = (), *, is_due: bool = False) -> Stage:
        """Return it without numbers of rows, also in what it says, without versions, and as if what was computed were another.

        Args:
            above: Closed things that it is made of: whether any of their rows are new is not told either.
            is_due: One of these was refreshed since it was, which is told instead.

        Example:
            >>> stage = Stage("v.x", "column", "5 rows are new or changed", rows=5)
            >>> stage.untold().rows, stage.untold().reason, stage.untold().mode
            (None, '… rows are new or changed', 'incremental')
            >>> stage.untold(["v"]).mode, stage.untold(["v"], is_due=True).reason
            ('no_op', 'reads v')
        """
        texts = ((name, getattr(self, name)) for name in ("reason", "message", "hint"))
        changes: dict[str, Any] = {name: text and without_counts(text) for name, text in texts}
        changes |= dict.fromkeys(("rows", "written", "updated", "deleted", "errors"))
        mode = self.mode
        if mode not in {"failed", "skipped"}:
            told = _not_of_rows(changes["reason"], above)
            changes["reason"] = told or (f"reads {', '.join(above)}" if is_due else "")
            is_rebuild = mode == "rebuild" and (told or not above)
            mode = "rebuild" if is_rebuild else "incremental" if changes["reason"] else "no_op"
        return replace(self, mode=mode, versions_in={}, versions_out={}, **changes)

    @property
    def is_told(self) -> bool:
        """Return whether its numbers of rows are there."""
        return self.rows is not None

    def counts(self) -> Mapping[str, int]:
        """Return them as the journal has them."""
        return {
            "rows_read": self.rows,
            "written": self.written,
            "updated": self.updated,
            "unchanged": 0,
            "rejected": self.errors,
        }

    def outcome(self) -> dict[str, Any]:
        """Return what the journal is told of a stage that wrote, for ``Writing.finish``."""
        versions = {"versions_in": self.versions_in, "versions_out": self.versions_out}
        return {"mode": self.mode, "counts": self.counts(), "fingerprint": self.fingerprint, **versions}


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did, stage by stage in the order of work, and what a person should know beside it."""

    stages: tuple[Stage, ...]
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    @property
    def mode(self) -> Mode:
        """Return ``no_op`` when nothing was done; ``failed`` when a stage failed; else ``incremental`` or ``rebuild``."""
        modes = {s.mode for s in self.stages}
        if "failed" in modes:
            return "failed"
        if "incremental" in modes:
            return "incremental"
        return "rebuild" if "rebuild" in modes else "no_op"

    @property
    def changed(self) -> bool:
        """Return whether anything was written."""
        return self.mode != "no_op"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {"mode": self.mode, "dry_run": self.dry_run, "stages": [s.to_dict() for s in self.stages]}


def _not_of_rows(reason: str, above: Collection[str]) -> str:
    """Return why something is stale as far as no closed row says so; that its own table changed would, of who was deleted.

    Example:
        >>> _not_of_rows("… rows are not indexed", ["pg"]), _not_of_rows("captions, pg changed", ["pg"])
        ('', 'captions changed')
        >>> _not_of_rows("… rows are not indexed", []), _not_of_rows("labels, its own table changed", [])
        ('… rows are not indexed', 'labels changed')
    """
    if above and (reason.startswith("…") or reason == "not built"):
        return ""
    names = [name for name in reason.removesuffix(" changed").split(", ") if name not in {*above, "its own table"}]
    return ", ".join(names) + (" changed" if names and reason.endswith(" changed") else "")
