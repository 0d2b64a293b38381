"""Put the report together and write it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.atomic_write import write as write_file
from counterbalance.report import absent, chapters, clusters, overview, pages, pictures, pins, topics, transfer
from counterbalance.report.examples import Examples
from counterbalance.report.renderer import FigureRenderer, untold
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from counterbalance.engine.backends import Engine
    from counterbalance.engine.lake import Lake
    from counterbalance.engine.sql.query_model import Query
    from counterbalance.report.figures import Figure

_SOFTWARE: Final = ("counterbalance", "duckdb", "pylance", "pyarrow", "vaderSentiment", "simplemma")
_PICTURES: Final = 12
_FINDINGS: Final = 8
_LEVEL: Final = 0.05


def write(
    lake: Lake,
    path: str | os.PathLike[str],
    *,
    blur: bool = False,
    examples: int = 0,
    pinned: Sequence[str] = (),
    dataset_bias: str = transfer.DATA,
    model_bias: str = transfer.MODEL,
    engine: Engine = "duckdb",
    progress: Callable[[int], None] = untold,
) -> Path:
    """Write the report of a lake as one HTML page that needs nothing else.

    Args:
        lake: The lake.
        path: The file to write; it is replaced in one step.
        blur: Blur the heads of people in pictures.
        examples: Pictures of each row of a figure, of the images that it counts; 0 for none.
        pinned: Calls of audits for a chapter at the top, such as ``cooccurrence(caption_gender, word_concepts)``.
        dataset_bias: Relation (concept, value) for the chapter on bias transfer: a table, a view, a call or ``(SELECT …)``.
        model_bias: Relation (category, value) for it.
        engine: What runs the queries.
        progress: Called with the number of figures so far.

    Returns:
        The path.

    Raises:
        NotFoundError: There is no such lake, none of the relations that were named for the chapter on bias transfer, or
            no such audit to pin.
    """
    biases = {"dataset_bias": dataset_bias, "model_bias": model_bias}
    page = render(lake, blur=blur, examples=examples, pinned=pinned, **biases, engine=engine, progress=progress)
    return write_file(Path(path), page)


def render(
    lake: Lake,
    *,
    blur: bool = False,
    examples: int = 0,
    pinned: Sequence[str] = (),
    dataset_bias: str = transfer.DATA,
    model_bias: str = transfer.MODEL,
    engine: Engine = "duckdb",
    progress: Callable[[int], None] = untold,
) -> str:
    """Return the report as HTML text; see ``write``."""
    with lake.session(engine=engine) as session:
        transfer.check(session, dataset_bias, model_bias)
        chosen = pins.audits(pinned)
        renderer = FigureRenderer(session, progress, Examples(lake, session, examples, blur) if examples else None)
        page: str = pages.template(__package__, "report.html.j2").render(
            **_contents(lake, renderer, (dataset_bias, model_bias), chosen, blur=blur)
        )
    return plain(page)


def _contents(
    lake: Lake, renderer: FigureRenderer, biases: tuple[str, str], chosen: Sequence[tuple[str, Query]], *, blur: bool
) -> dict[str, Any]:
    session = renderer.session
    tables = overview.tables(session)
    shown, notes = pictures.sample(lake, session, _PICTURES, blur=blur)
    sections = [
        *pins.sections(renderer, chosen),
        overview.section(renderer),
        *chapters.sections(renderer),
        *clusters.sections(renderer),
        *topics.sections(renderer, lake, blur=blur),
        *transfer.sections(session, *biases),
    ]
    left_out = absent.found(sections, lake.uri, has_captions="captions" in renderer.there)
    left_out += [] if shown else [absent.Absent(" ".join(notes).rstrip("."), ["Pictures"])]
    sections = absent.shown(sections)
    return {
        "lake": pages.name_of(lake),
        "uri": lake.uri,
        "lead": "How people are shown and described in this dataset: counts, audits, and the SQL behind each of them.",
        "tables": tables,
        "notes": overview.notes(session),
        "pinned": [s for s in sections if s.name == "pinned"],
        "sections": [s for s in sections if s.name != "pinned"],
        **_glance([f for s in sections for f in s.figures if f.tests]),
        "absent": left_out,
        "pictures": shown,
        "picture_notes": notes,
        "picture_sql": pictures.SAMPLE_SQL.replace("$most", str(_PICTURES)),
        "versions": session.versions,
        "software": software(),
        "version": software()["counterbalance"],
        "runs": overview.runs(session),
        "functions": overview.functions(session, (f for s in sections for f in s.figures)),
        "css": pages.read_text(__package__, "report.css"),
    }


def _glance(figures: Sequence[Figure]) -> dict[str, Any]:
    """Return the surest difference of each figure, and how many values these are of."""
    ranked = surest(figures)
    shown = [figure for figure in figures if any(figure is other for _, other in ranked)]
    return {"findings": shown, "looked_at": sum(len(f.tests) for f in figures), "figures_looked_at": len(figures)}


def surest(figures: Sequence[Figure]) -> list[tuple[float, Figure]]:
    """Return the figures whose surest difference q allows, the surest first.

    Args:
        figures: With tests; q (Benjamini and Hochberg's) is over the values of all of them.

    Returns:
        q of that difference, and its figure.
    """
    from scipy.stats import false_discovery_control  # half a second, and few need a report

    every = [p for figure in figures for p in figure.tests]
    q = dict(zip(every, false_discovery_control(every).tolist(), strict=True)) if every else {}
    found = [(q[figure.tests[0]], figure) for figure in figures if figure.tests and q[figure.tests[0]] < _LEVEL]
    return sorted(found, key=lambda pair: pair[0])[:_FINDINGS]


def software() -> dict[str, str]:
    """Return versions of what had a part in the numbers."""
    found = {}
    for name in _SOFTWARE:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
