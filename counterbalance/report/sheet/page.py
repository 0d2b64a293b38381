"""Puts a sheet together and writes it: one HTML file that needs nothing else and asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import RequestError
from counterbalance.report.sheet.crops import pictures_of
from counterbalance.report.sheet.draw import Question, draw
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.report.sheet.draw import Drawn, Sample, Unit

_KEYS: Final = "123456789abcdefghijklmnopqrtvwxyz"
"""Keys of the answers; ``s`` skips, ``u`` is ``unclear`` as well."""
_COLUMNS: Final = {"image": "image_id", "person": "detection_id"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that was written.

    Args:
        path: The file.
        sheet: Its id; annotators are called ``a1@ID``, ``a2@ID`` … in the labels.
        drawn: Units on the sheet by the model's label.
        population: Units in the lake by the model's label.
        notes: What was left out, and why.
    """

    path: Path
    sheet: str
    drawn: Mapping[str, int]
    population: Mapping[str, int]
    notes: Sequence[str]


def validate_labels(
    lake: Lake,
    path: str | os.PathLike[str],
    *,
    attribute: str,
    labels: str,
    unit: Unit = "image",
    count: int = 200,
    per_label: bool = False,
    seed: int = 0,
    annotators: int = 3,
    blur: bool = False,
    sensitive: str | None = None,
) -> Sheet:
    """Write an annotation sheet for checking a model's labels; ingest its answers with ``format="labels"``.

    The sample is drawn within each label of the model by a hash of ids, so that the same lake and seed give the same one. The
    model's label is not on the sheet. The audit ``label_validation`` compares answers and labels.

    Args:
        lake: The lake; it is only read.
        path: The HTML file; it is replaced in one step.
        attribute: Of labels, such as ``perceived_gender``; the question.
        labels: The model's labels: a group relation (image_id, label), such as
            ``person_units('perceived_gender', annotator := 'siglip')``.
        unit: ``image``, or ``person`` where image_id of ``labels`` is a box.
        count: Units of the sample, shared out evenly over labels; or of each label with ``per_label``.
        per_label: See ``count``.
        seed: Another seed draws another sample.
        annotators: How many people will answer; each has a name and an order of pictures.
        blur: Blur the upper part of persons' boxes, and whole pictures without boxes.
        sensitive: Purpose for which perceived labels are read; it is logged, and stands on the sheet.

    Raises:
        SensitiveError: The labels need a purpose.
        RequestError: See ``draw``; or no picture could be decoded (E3575).
    """
    question = Question(attribute, labels, unit, count, per_label, seed)
    with lake.session(sensitive=sensitive) as session:
        sample = draw(session, question)
        shown = list(pictures_of(lake, session, sample.units, blur=blur))
    if not shown:
        raise RequestError("none of the pictures can be decoded", code="E3575", hint="ingest them again")
    sheet = _id(question, [u for u, _ in shown], sample.options, blur=blur)
    data = _data(question, sheet, shown, sample.options, annotators)
    about = _about(lake, question, sensitive, blur=blur)
    target = _written(Path(path), render(data, about))
    drawn: dict[str, int] = {}
    for one, _ in shown:
        drawn[one.label] = drawn.get(one.label, 0) + 1
    return Sheet(target, sheet, dict(sorted(drawn.items())), sample.population, _notes(sample, len(shown)))


def _id(question: Question, units: Sequence[Drawn], options: Sequence[str], *, blur: bool) -> str:
    """Eight hex digits that name what is asked about which units: the same sheet has the same ones."""
    said = [question.attribute, question.unit, sorted(u.unit_id for u in units), list(options), blur]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]


def _data(
    question: Question, sheet: str, shown: Sequence[tuple[Drawn, str]], options: Sequence[str], annotators: int
) -> dict[str, Any]:
    """All that the script knows; nothing in it tells what the model said."""
    return {
        "sheet": sheet,
        "attribute": question.attribute,
        "column": _COLUMNS[question.unit],
        "annotators": [f"a{n}@{sheet}" for n in range(1, annotators + 1)],
        "options": [{"value": v, "shown": plain(v), "key": k} for v, k in zip(options, _KEYS, strict=False)],
        "items": [{"id": str(unit.unit_id), "picture": uri} for unit, uri in shown],
    }


def _about(lake: Lake, question: Question, purpose: str | None, *, blur: bool) -> dict[str, Any]:
    return {
        "lake": lake.uri.rstrip("/").rpartition("/")[2] or lake.uri,
        "question": question.attribute.replace("_", " ").removeprefix("perceived "),
        "unit": question.unit,
        "purpose": purpose or "not stated",
        "user": meta.user(),
        "made": meta.now().strftime("%Y-%m-%d %H:%M UTC"),
        "seed": question.seed,
        "blur": blur,
    }


def _notes(sample: Sample, shown: int) -> list[str]:
    notes = []
    if sample.unseen:
        notes.append(f"{sample.unseen:,} labelled units have no stored picture and could not be drawn")
    if len(sample.units) > shown:
        notes.append(f"{len(sample.units) - shown} pictures or boxes could not be read and are left out")
    return notes


def render(data: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """The page as HTML text.

    Args:
        data: What the script reads; see ``_data``.
        about: Words for the reader, escaped here.
    """
    import jinja2

    own = files(__package__)
    css, script = (own.joinpath(f"sheet.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(own.joinpath("sheet.html.j2").read_text(encoding="utf-8"))
    page: str = template.render(
        data=data, css=css, script=script, css_hash=_hash(css), script_hash=_hash(script), **about
    )
    return plain(page)


def _hash(text: str) -> str:
    """As a Content-Security-Policy names a script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _written(target: Path, text: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target
