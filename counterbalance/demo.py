"""The whole way in one go: draw a sample, ingest it, run every audit, compare with what was planted, write a report."""

from __future__ import annotations

import math
import shlex
import sys
import textwrap
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.sample import Planted, Quantity

IMAGES: Final = 500
_ASCII: Final = str.maketrans({"─": "-", "●": "*", "○": "o", "≠": "!", "…": "..."})
_SAME: Final = 1e-6
"""Audits compute in double precision; scores are stored as float32."""
_PURPOSE: Final = "demo: whether what was drawn is found again"
_NEEDS_A_MODEL: Final = {"E1102", "E3501"}
"""Errors of audits that embed words by a model, where its weights or its library are missing."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """A planted quantity beside what its audit found.

    Args:
        quantity: What was planted.
        value: The audit's value; ``None`` when suppressed.
        low: Lower end of its 95 % interval.
        high: Upper end.
        problem: Why there is no value.
    """

    quantity: Quantity
    value: float | None
    low: float | None = None
    high: float | None = None
    problem: str = ""

    @property
    def exact(self) -> bool | None:
        """Return whether the audit's value is the one counted in the sample; ``None`` when nothing was counted."""
        planted = self.quantity.sample
        if planted is None:
            return None
        return self.value is not None and math.isclose(self.value, planted, abs_tol=_SAME)

    @property
    def held(self) -> bool | None:
        """Return whether the interval holds the population's value; ``None`` without an interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.quantity.population <= self.high


@dataclass(frozen=True, slots=True)
class Demo:
    """Describe what a demo did."""

    directory: Path
    lake: Lake
    recovered: tuple[Recovered, ...]
    others: Mapping[str, str]
    report: Path
    seconds: float


def run(
    directory: str | os.PathLike[str] | None = None, out: TextIO | None = None, *, images: int = IMAGES, seed: int = 0
) -> Demo:
    """Run the demo.

    Args:
        directory: Where everything goes; ``counterbalance-demo`` here when left out. Run again, it finds nothing new.
        out: Where it is told.
        images: Size of the sample.
        seed: Of the sample.

    Returns:
        What was found.
    """
    import counterbalance
    from counterbalance.report import build
    from counterbalance.sample import generate

    began = time.monotonic()
    folder = Path(directory or "counterbalance-demo")
    tell = _Teller(out or sys.stdout)
    tell.say(f"counterbalance demo in {folder}\n")
    with tell.step(f"drawing {images} scenes with planted biases", folder / "sample"):
        planted = generate(folder / "sample", images=images, seed=seed)
    lake = counterbalance.connect(folder / "sample.lake")
    with tell.step("ingesting captions, boxes, pictures, alt-texts, labels", folder / "sample.lake"):
        ingest(lake, folder / "sample")
    with tell.step("running the audits"):
        with lake.session(sensitive=_PURPOSE) as session:
            recovered = recover(session, planted)
        with lake.session() as session:
            others = run_others(session, planted)
    with tell.step("writing the report", folder / "report.html"):
        report = build.write(lake, folder / "report.html")
    tell.say(_table(recovered))
    tell.say(_others(others))
    seconds = time.monotonic() - began
    tell.say(f"Done in {seconds:.0f} s. What to type next:\n\n{_next(folder)}")
    return Demo(folder, lake, tuple(recovered), others, report, seconds)


def ingest(lake: Lake, sample: Path) -> None:
    """Take a sample into a lake: captions and boxes, alt-texts, labels, pictures."""
    lake.ingest(str(sample / "annotations"), format="coco", images=str(sample / "images"), store_images=True)
    lake.ingest(str(sample / "alt_text"), format="coco", origin="alt_text")
    lake.ingest(str(sample / "labels.csv"), format="labels")


def recover(session: Session, planted: Planted) -> list[Recovered]:
    """Run the audit of every planted quantity and pick its row."""
    answers: dict[str, list[dict[str, Any]] | str] = {}
    found = []
    for quantity in planted.quantities:
        key = f"{quantity.audit} {sorted(quantity.parameters.items())}"
        if key not in answers:
            answers[key] = _rows(session, quantity)
        found.append(_picked(quantity, answers[key]))
    return found


def _rows(session: Session, quantity: Quantity) -> list[dict[str, Any]] | str:
    try:
        rows: list[dict[str, Any]] = session.audit(quantity.audit, **quantity.parameters).to_arrow().to_pylist()
    except CounterbalanceError as error:
        return f"{error.code}: {error.message}"
    return rows


def _picked(quantity: Quantity, rows: list[dict[str, Any]] | str) -> Recovered:
    if isinstance(rows, str):
        return Recovered(quantity, None, problem=rows)
    matching = [r for r in rows if all(r.get(k) == v for k, v in quantity.where.items())]
    if len(matching) != 1:
        return Recovered(quantity, None, problem=f"{len(matching)} rows match")
    row = matching[0]
    value = row[quantity.column]
    problem = "" if value is not None else "suppressed: too few"
    return Recovered(quantity, value, row.get(quantity.low), row.get(quantity.high), problem)


def run_others(session: Session, planted: Planted) -> dict[str, str]:
    """Run the audits that nothing was planted for; what came of each."""
    import counterbalance

    covered = {q.audit for q in planted.quantities}
    found = {}
    for name, query in counterbalance.audits().items():
        if name in covered:
            continue
        if any(p.default is None for p in query.parameters):
            continue  # it needs another dataset, another model's labels, or answers
        try:
            found[name] = f"{session.audit(name).to_arrow().num_rows} rows"
        except CounterbalanceError as error:
            if error.code not in _NEEDS_A_MODEL:
                found[name] = f"{error.code}: {error.message}"
    return found


class _Teller:
    """Tell steps and their times, one line each."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, text: str) -> None:
        """Print and flush; signs that the terminal does not know are spelled in ASCII."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        print(text, file=self._out, flush=True)

    @contextmanager
    def step(self, what: str, where: Path | None = None) -> Iterator[None]:
        """Print what is done, then how long it took."""
        print(f"  {what} ".ljust(62, "."), end=" ", file=self._out, flush=True)
        began = time.monotonic()
        yield
        self.say(f"{time.monotonic() - began:5.1f} s{'' if where is None else f'   {where}'}")


def _table(recovered: list[Recovered]) -> str:
    heads = ("planted", "population", "in this sample", "audit says", "95 % interval", "")
    rows = [_cells(r) for r in recovered]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [_line(heads, widths), "  " + "  ".join("─" * w for w in widths[:-1])]
    audit = ""
    for r, row in zip(recovered, rows, strict=True):
        if r.quantity.audit != audit:
            audit = r.quantity.audit
            lines.append(f"  {audit}")
        lines.append(_line(row, widths))
    exact = [r.exact for r in recovered if r.exact is not None]
    inside = [r.held for r in recovered if r.held is not None]
    lines.append(
        f"\n  {sum(exact)} of {len(exact)} values are exactly what was counted in the sample; "
        f"{sum(inside)} of {len(inside)} intervals hold the\n  population's value (19 in 20 do, as a rule). "
        "=  exact   ●  interval holds the population   ○  it does not"
    )
    return "\n" + "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = (
        c.ljust(w) if i in {0, 5} else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
    )
    return ("  " + "  ".join([first, *rest])).rstrip()


def _cells(r: Recovered) -> tuple[str, str, str, str, str, str]:
    q = r.quantity
    interval = "" if r.low is None or r.high is None else f"{_number(r.low)} … {_number(r.high)}"
    same = {True: "=", False: "≠", None: " "}[r.exact]
    held = {True: "●", False: "○", None: " "}[r.held]
    verdict = f"{same} {held}" if r.value is not None else r.problem
    return (f"  {q.name}", _number(q.population), _number(q.sample), _number(r.value), interval, verdict)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def _others(others: Mapping[str, str]) -> str:
    if not others:
        return ""
    told = "Audits without a planted number: " + ", ".join(f"{k} ({v})" for k, v in others.items())
    return textwrap.fill(told, 100, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False) + "\n"


def _next(folder: Path) -> str:
    lake, report = shlex.quote(str(folder / "sample.lake")), shlex.quote(str(folder / "report.html"))
    lines = (
        (f"open {report}", "the report, in a browser"),
        (f"counterbalance sql {lake}", "ask in SQL; .help helps, .audits lists"),
        (f"counterbalance sql {lake} 'SELECT text, vader(text) FROM captions LIMIT 5'", ""),
        (f"counterbalance audit {lake} crime_words groups=caption_gender", ""),
        ("counterbalance ingest my.lake annotations/", "your own data"),
    )
    return "\n".join(f"  {command}" + (f"   # {why}" if why else "") for command, why in lines) + "\n"
