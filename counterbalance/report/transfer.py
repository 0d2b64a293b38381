"""Bias transfer as a figure: how the bias of categories in the data goes with that of a model, a dot a category."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.report.figures import Figure, Section, decimals, table_of
from counterbalance.report.svg import NARROW, WIDE, drawing, plain, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.session import Session
    from counterbalance.report.renderer import Row

DATA: Final = "dataset_bias"
"""Table or view (concept, value, …) of a lake whose report has a scatter plot."""
MODEL: Final = "model_bias"
"""Table or view (category, value, …) beside it."""
_CALL: Final = "SELECT * FROM bias_transfer({}, {}, show := 'all')"
_TALL: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 16.0, 12.0, 48.0
_NAMED: Final = 8


def check(session: Session, data: str, model: str) -> None:
    """See that relations that somebody named are there; those that nobody named need not be.

    Raises:
        NotFoundError: One is not.
        SqlError: One is not a relation of the columns that are needed.
    """
    if (data, model) != (DATA, MODEL):
        _ = session.sql(_CALL.format(data, model)).schema


def sections(session: Session, data: str = DATA, model: str = MODEL) -> list[Section]:
    """Return the chapter; none where nobody named relations, and the lake has no tables or views of these names.

    Args:
        session: The session.
        data: Relation of the bias of the data.
        model: Relation of the bias of a model.
    """
    held = {name for (name,) in session.sql("SELECT name FROM meta.tables").fetchall()}
    if (data, model) == (DATA, MODEL) and not {data, model} <= held:
        return []
    says = "Whether a model leans where its data leans: correlation over categories, not cause."
    return [Section("transfer", "From data to model", says, [figure(session, data, model)])]


def figure(session: Session, data: str, model: str) -> Figure:
    """Return the scatter plot with its numbers, or the reason why there is none."""
    call = _CALL.format(data, model)
    parts = (
        "bias-transfer",
        "Bias of the data and bias of the model",
        (
            "A dot is a category: across, how the data leans; up, how the model does. The line is fitted by least squares; "
            "the categories farthest from it are named."
        ),
    )
    try:
        result = session.sql(call)
        rows = result.to_arrow()
        sql = session.expand(call)
    except CounterbalanceError as error:
        return Figure(*parts, gap=f"{error.message} ({error.code})")
    found = rows.to_pylist()
    points = [r for r in found if r["level"] == "category" and r["fitted"] is not None]
    if not points:
        return Figure(*parts, gap="too few categories have both.", call=call)
    columns, cells = table_of(rows)
    summary = {r["metric"]: r for r in found if r["level"] == "summary"}
    return Figure(
        *parts,
        scatter(points, name="transfer-w", width=WIDE),
        scatter(points, name="transfer-n", width=NARROW),
        columns,
        cells,
        call,
        sql,
        source="see bias_transfer",
        notes=[_summarize(summary), *result.notes],
    )


def _summarize(summary: dict[str, Row]) -> str:
    """Return the correlation and share explained, with intervals."""
    rho, r2 = summary["rho"], summary["r2"]
    texts = [
        f"{name} = {decimals(row['value'])} ({decimals(row['low'])} to {decimals(row['high'])})"
        for name, row in (("Pearson's rho", rho), ("R²", r2))
        if row["value"] is not None and row["low"] is not None
    ]
    return f"{', '.join(texts)}; {rho['n']:,} categories."


def scatter(points: Sequence[Row], *, name: str, width: int) -> str:
    """Return dots over two axes with the fitted line, as SVG text.

    Args:
        points: Rows with ``category``, ``data``, ``model``, ``fitted`` and ``value`` (the residual), all numbers.
        name: Unique in the page, for ids.
        width: In pixels.

    Example:
        >>> rows = [{"category": c, "data": x, "model": x, "fitted": x, "value": 0.0} for c, x in (("a", 0.0), ("b", 1.0))]
        >>> scatter(rows, name="s", width=340).count("<circle")
        2
    """
    across = ticks(min(p["data"] for p in points), max(p["data"] for p in points), most=6 if width > NARROW else 4)
    heights = [v for p in points for v in (p["model"], p["fitted"])]
    up = ticks(min(heights), max(heights))

    def x(value: float) -> float:
        return _LEFT + (width - _LEFT - _RIGHT) * (value - across[0]) / (across[-1] - across[0])

    def y(value: float) -> float:
        return _TALL - _BOTTOM - (_TALL - _TOP - _BOTTOM) * (value - up[0]) / (up[-1] - up[0])

    floor = _TALL - _BOTTOM
    grid = "".join(f"M{x(t):.1f} {_TOP:g}V{floor:g}" for t in across) + "".join(
        f"M{_LEFT:g} {y(t):.1f}H{width - _RIGHT:g}" for t in up
    )
    line = "L".join(f"{x(p['data']):.1f} {y(p['fitted']):.1f}" for p in sorted(points, key=lambda p: p["data"]))
    dots = "".join(
        f'<circle cx="{x(p["data"]):.1f}" cy="{y(p["model"]):.1f}" r="3.5"><title>{escape(plain(p["category"]))}</title></circle>'
        for p in points
    )
    far = sorted(points, key=lambda p: (-abs(p["value"]), p["category"]))
    named = list({(p["data"], p["model"]): p for p in reversed(far)}.values())[::-1][:_NAMED]  # one name a place
    names = "".join(
        f'<text x="{x(p["data"]) + (-6 if _is_right(x(p["data"]), width) else 6):.1f}" y="{y(p["model"]) + 4:.1f}" '
        f'text-anchor="{"end" if _is_right(x(p["data"]), width) else "start"}">{escape(plain(p["category"])[:24])}</text>'
        for p in named
    )
    numbers = "".join(
        f'<text x="{x(t):.1f}" y="{floor + 16:g}" text-anchor="middle">{decimals(t)}</text>' for t in across
    ) + "".join(f'<text x="{_LEFT - 8:g}" y="{y(t) + 4:.1f}" text-anchor="end">{decimals(t)}</text>' for t in up)
    desc = f"{len(points)} categories; farthest from the line: {', '.join(plain(p['category']) for p in named)}"
    parts = [
        f'<path d="{grid}" stroke="var(--grid, #e3e5ea)"/>',
        f'<path d="M{line}" stroke="var(--ink-soft, #6b7280)" stroke-width="1.5" fill="none"/>',
        f'<g fill="var(--plain, #4b5d8a)" fill-opacity="0.75">{dots}</g>',
        f'<g class="note" fill="var(--ink, #1c2230)">{names}</g>',
        f'<g class="tick" fill="var(--ink-soft, #6b7280)">{numbers}</g>',
        (
            f'<g class="axis" fill="var(--ink-soft, #6b7280)"><text x="{(_LEFT + width - _RIGHT) / 2:.1f}" y="{_TALL - 8}" '
            f'text-anchor="middle">bias of the data</text><text transform="rotate(-90)" x="{-(_TOP + floor) / 2:.1f}" y="14" '
            f'text-anchor="middle">bias of the model</text></g>'
        ),
    ]
    return drawing(parts, width, _TALL, title="Bias of the model over bias of the data", desc=desc, name=name)


def _is_right(x: float, width: int) -> bool:
    """Return whether a name beside a dot would leave the picture."""
    return x > 0.7 * width
