"""Put a sheet together and write it: one HTML file that needs nothing else and asks nothing of any network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine import atomic_write
from counterbalance.engine.errors import RequestError
from counterbalance.report.sheet import base
from counterbalance.report.sheet.base import Sheet
from counterbalance.report.sheet.crops import pictures_of
from counterbalance.report.sheet.sampling import Question, draw

if TYPE_CHECKING:
    import os

    from counterbalance.engine.lake import Lake
    from counterbalance.report.sheet.sampling import DrawnSample, Unit

__all__ = ["Sheet", "validate_labels"]
_COLUMNS: Final = {"image": "image_id", "person": "detection_id"}


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
        RequestError: See ``draw``; or no picture could be decoded (E3571).
    """
    question = Question(attribute, labels, unit, count, per_label, seed)
    with lake.session(sensitive=sensitive) as session:
        sample = draw(session, question)
        shown = list(pictures_of(lake, session, sample.units, blur=blur))
    if not shown:
        raise RequestError("none of the pictures can be decoded", code="E3571", hint="ingest them again")
    said = [attribute, unit, sorted(u.unit_id for u, _ in shown), sample.options, blur]
    sheet = base.identity(said)
    items = [{"id": str(one.unit_id), "picture": uri} for one, uri in shown]  # nothing tells what the model said
    options = {value: value for value in sample.options}
    data = base.questions(sheet, attribute, [_COLUMNS[unit]], options, annotators, items)
    words = base.about(lake, sensitive, seed=seed, blur=blur)
    asked = attribute.replace("_", " ").removeprefix("perceived ")
    target = atomic_write.write(Path(path), base.render("validate", data, {**words, "question": asked, "unit": unit}))
    drawn: dict[str, int] = {}
    for one, _ in shown:
        drawn[one.label] = drawn.get(one.label, 0) + 1
    return Sheet(target, sheet, dict(sorted(drawn.items())), sample.population, _notes(sample, len(shown)))


def _notes(sample: DrawnSample, shown: int) -> list[str]:
    notes = []
    if sample.unseen:
        notes.append(f"{sample.unseen:,} labelled units have no stored picture and could not be drawn")
    if len(sample.units) > shown:
        notes.append(f"{len(sample.units) - shown} pictures or boxes could not be read and are left out")
    return notes
