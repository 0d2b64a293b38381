"""Draw the sample of a sheet: within each label of the model, by a hash of the unit's id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlglot import exp

from counterbalance.engine.errors import RequestError
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.call_syntax import arguments_of, call_name
from counterbalance.engine.sql.queries import queries
from counterbalance.report.pictures import MAY_HAVE_ONE
from counterbalance.report.sheet.base import UNCLEAR, refuse_without_purpose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.session import Session

Unit = Literal["image", "person"]
_ROLL_UPS: Final = ("image_labels", "person_labels", "person_units")
"""Views over table labels, into which the answers will go too."""
_MOST_OPTIONS: Final = 30
_BOX: Final = "d.x, d.y, d.width, d.height"
_FRAME: Final = {
    "image": "labelled AS u LEFT JOIN images AS i ON i.image_id = u.unit_id",
    "person": "labelled AS u LEFT JOIN detections AS d ON d.detection_id = u.unit_id "
    "LEFT JOIN images AS i ON i.image_id = d.image_id",
}


@dataclass(frozen=True, slots=True)
class Question:
    """Describe what a sheet asks, and of whom.

    Args:
        attribute: Of labels, such as ``perceived_gender``.
        labels: The model's labels: a group relation (image_id, label) as SQL; of persons, image_id is the box.
        unit: Whether a unit is an image or a person's box.
        count: Units of the sample, or of each label.
        per_label: Whether ``count`` is meant a label.
        seed: Another seed draws another sample.
    """

    attribute: str
    labels: str
    unit: Unit = "image"
    count: int = 200
    per_label: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A unit of the sample; its label is for the writer of the sheet only, and never on it.

    Args:
        unit_id: Of the image or the box.
        image_id: Of the picture.
        label: What the model said.
        box: x, y, width and height in pixels as stored; ``None`` for a whole image.
    """

    unit_id: int
    image_id: int
    label: str
    box: tuple[float, float, float, float] | None


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """The units of a sheet, in the order of a hash that their labels have no part in.

    Args:
        units: The units.
        options: Values of the attribute, ``unclear`` last.
        population: Units of each label of the model.
        unseen: Units that cannot be drawn, for want of a stored picture.
    """

    units: list[Drawn]
    options: list[str]
    population: Mapping[str, int]
    unseen: int


def allocate(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return shares out a sample over strata as evenly as their sizes allow.

    Args:
        sizes: Units of each stratum.
        count: Units of the sample.

    Returns:
        Units to draw of each stratum; together ``count``, or all there are.

    Example:
        >>> allocate({"a": 2, "b": 90, "c": 90}, 21)
        {'a': 2, 'b': 9, 'c': 10}
    """
    left, found = count, {}
    order = sorted(sizes, key=lambda label: (sizes[label], label))
    for at, label in enumerate(order):
        found[label] = min(sizes[label], left // (len(order) - at))
        left -= found[label]
    return found


def draw(session: Session, question: Question) -> DrawnSample:
    """Return the sample for a question.

    Raises:
        SensitiveError: The labels need a purpose, and the session has none.
        RequestError: There is nothing to draw from (E3571), the sample is too small (E3572), there are too many values
            (E3573), or answers would be mixed with what they check (E3574).
    """
    relation = _checked(session, question)
    result = session.sql(_sizes(relation, question.unit))
    sizes = result.to_arrow().to_pylist()
    stored = {r["label"]: r["stored"] for r in sizes if r["stored"]}
    if not stored:
        raise RequestError(
            f"{question.labels} labels no {question.unit} whose picture is in the lake",
            code="E3571",
            hint="; ".join(result.notes)
            or "ingest once more with --images FOLDER; for persons --unit person is needed",
        )
    options = _options(session, question, [r["label"] for r in sizes])
    wanted = _wanted(stored, question)
    rows = session.sql(_rows(relation, question.unit), seed=str(question.seed), most=max(wanted.values())).to_arrow()
    units = [_drawn(r) for r in rows.to_pylist() if r["place"] <= wanted[r["label"]]]
    return DrawnSample(
        units, options, {r["label"]: r["units"] for r in sizes}, sum(r["units"] - r["stored"] for r in sizes)
    )


def _checked(session: Session, question: Question) -> str:
    """Return the relation as it is written in FROM."""
    refuse_without_purpose(session, question.attribute)
    tree = arguments.relation(question.labels, "'labels'")
    known = queries()
    for node in tree.find_all(exp.Func):
        name = call_name(node)
        if name in _ROLL_UPS:
            given = arguments.bind(name, [p.name for p in known[name].parameters], arguments_of(node))
            if "annotator" not in given:
                raise RequestError(
                    f"{name}() without an annotator would hold the answers too, which are labels like any other",
                    code="E3574",
                    hint=f"name whose labels are checked: {name}({question.attribute!r}, annotator := '…')",
                )
    return question.labels


def _labelled(relation: str) -> str:
    return (
        f"labelled AS (SELECT image_id AS unit_id, min(label) AS label FROM {relation} AS given "
        "WHERE label IS NOT NULL GROUP BY image_id HAVING min(label) = max(label))"
    )


def _sizes(relation: str, unit: Unit) -> str:
    return (
        f"WITH {_labelled(relation)} SELECT u.label, count(*) AS units, count(*) FILTER (WHERE {MAY_HAVE_ONE}) AS stored "
        f"FROM {_FRAME[unit]} GROUP BY u.label ORDER BY u.label"
    )


def _rows(relation: str, unit: Unit) -> str:
    """Return the first units of each label by a hash; then in the order of another one."""
    box = _BOX if unit == "person" else "NULL AS x, NULL AS y, NULL AS width, NULL AS height"
    return (
        f"WITH {_labelled(relation)}, ranked AS (SELECT u.unit_id, u.label, i.image_id, {box}, row_number() OVER "
        "(PARTITION BY u.label ORDER BY md5(concat($seed, ':', CAST(u.unit_id AS VARCHAR))), u.unit_id) AS place "
        f"FROM {_FRAME[unit]} WHERE {MAY_HAVE_ONE}) SELECT * FROM ranked WHERE place <= $most "
        "ORDER BY md5(concat('order:', $seed, ':', CAST(unit_id AS VARCHAR))), unit_id"
    )


def _wanted(stored: Mapping[str, int], question: Question) -> dict[str, int]:
    if question.per_label:
        return {label: min(size, question.count) for label, size in stored.items()}
    if question.count < len(stored):
        raise RequestError(
            f"a sample of {question.count} cannot hold all {len(stored)} labels",
            code="E3572",
            hint=f"-n {len(stored)} or more, better a hundred",
        )
    return allocate(stored, question.count)


def _options(session: Session, question: Question, labels: list[str]) -> list[str]:
    """Return values that the model or anybody else gave, without whose they are."""
    text = "SELECT DISTINCT value FROM labels WHERE attribute = $attribute AND value IS NOT NULL"
    rows = session.sql(text, attribute=question.attribute).to_arrow()["value"].to_pylist()
    found = sorted({*rows, *labels} - {UNCLEAR})
    if len(found) >= _MOST_OPTIONS:
        raise RequestError(
            f"{question.attribute!r} has {len(found)} values; a sheet offers {_MOST_OPTIONS} at most",
            code="E3573",
            hint="validate a coarser label, or a part: (SELECT image_id, label FROM … WHERE label IN (…))",
        )
    return [*found, UNCLEAR]


def _drawn(row: Mapping[str, Any]) -> Drawn:
    sides = [row[name] for name in ("x", "y", "width", "height")]
    box = None if None in sides else (float(sides[0]), float(sides[1]), float(sides[2]), float(sides[3]))
    return Drawn(row["unit_id"], row["image_id"], row["label"], box)
