"""Refuse calls on perceived labels whose rows would tell of few people, whatever cells are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.disclosure.cells import LABEL, MIN_COUNT, OTHERS
from counterbalance.engine.disclosure.protection import hidden_at_least
from counterbalance.engine.errors import RequestError, SensitiveError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.disclosure.cells import Cells
    from counterbalance.engine.disclosure.protection import Unseen

_ROW_LEVEL: Final = frozenset(
    {"image_id", "caption_id", "detection_id", "label_id", "edit_id", "query_id", "item_id", "uri", "key", "text"}
)
"""Columns that are about one image, box or text."""


def require_columns(name: str, schema: pa.Schema, cells: Sequence[Cells]) -> None:
    """Refuse rows of an audit without a column that its cells name.

    Raises:
        RequestError: Some are not there.
    """
    missing = {c: None for cell in cells for c in cell.columns if c not in schema.names}
    if missing:
        raise RequestError(
            f"{name}() gives no column {' or '.join(map(repr, missing))}, which its [[cells]] name",
            code="E3030",
            hint=f"its columns: {', '.join(schema.names)}",
        )


def refuse_row_level(name: str, schema: pa.Schema) -> None:
    """Refuse rows of an audit of perceived labels that are about single images.

    Raises:
        SensitiveError: A column names an image, a box or a text, or holds bytes or a vector.
    """
    for field in schema:
        is_wide = (
            pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type) or pa.types.is_nested(field.type)
        )
        if field.name.lower() in _ROW_LEVEL or is_wide:
            raise SensitiveError(
                f"{name}() shows {field.name} beside perceived labels: its rows are about single images",
                code="E3322",
                hint='state a purpose: --sensitive "why", which is logged',
            )


def refuse_odd_labels(name: str, parameter: str, kind: pa.DataType) -> None:
    """Refuse a call on perceived labels that are no text, as a view may have numbered them: hidden ones could not be one label.

    Args:
        name: The audit.
        parameter: The relation of labels; '' where they are no argument.
        kind: Their type.

    Raises:
        SensitiveError: They are no text.

    Example:
        >>> refuse_odd_labels("demographics", "groups", pa.string())
    """
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise SensitiveError(
            f"{name}() needs perceived labels as text, and {parameter!r} has them as {kind}",
            code="E3332",
            hint="cast them in the view: label::VARCHAR; or state a purpose",
        )


def refuse_odd_vectors(name: str, vectors: Mapping[str, tuple[int, int]]) -> None:
    """Refuse a call on perceived labels with vectors that cannot be compared, whether their images have labels or not.

    An audit that failed only where one with a label is among them would tell that.

    Args:
        name: The audit.
        vectors: By relation, how many vectors have no direction, and how many lengths there are.

    Raises:
        SensitiveError: There are such vectors.

    Example:
        >>> refuse_odd_vectors("ieat", {"images": (0, 1)})
    """
    for parameter, (odd, lengths) in vectors.items():
        if odd or lengths > 1:
            what = "of several lengths" if lengths > 1 else "with NaN, infinity or nothing but zeros"
            raise SensitiveError(
                f"{name}() cannot be computed over perceived labels: {parameter!r} has vectors {what}",
                code="E3327",
                hint="leave such rows out of the relation",
            )


def refuse_doubles(name: str, parameter: str, images: int, *, overlap: bool) -> None:
    """Refuse a call on perceived labels of which images have several, or in which few images have several open ones beside them.

    Labels that overlap add up to more than the images, and to many sums of which some are small.

    Args:
        name: The audit.
        parameter: The relation of labels.
        images: How many have several.
        overlap: Labels are open, or of edits: only few are refused.

    Raises:
        SensitiveError: There are such images, or few.

    Example:
        >>> refuse_doubles("demographics", "groups", 0, overlap=False)
    """
    if images and not (overlap and images >= MIN_COUNT):
        have = (
            f"fewer than {MIN_COUNT} images have several labels" if overlap else "an image has several perceived labels"
        )
        raise SensitiveError(
            f"{have} in {parameter!r} of {name}(): counts that overlap add up to sums that tell of few",
            code="E3326",
            hint="take one label an image, such as image_labels('perceived_gender'), in which these are mixed; "
            'or state a purpose: --sensitive "why", which is logged',
        )


def refuse_shared_terms(name: str, parameter: str, terms: int) -> None:
    """Refuse a call on perceived labels with terms of several classes: what two classes share would follow from both and their total.

    Args:
        name: The audit.
        parameter: The list of terms.
        terms: How many are of several classes.

    Raises:
        SensitiveError: There are such terms.

    Example:
        >>> refuse_shared_terms("crime_words", "terms", 0)
    """
    if terms:
        raise SensitiveError(
            f"{parameter!r} of {name}() has terms of several classes: beside perceived labels, classes that overlap tell of few",
            code="E3331",
            hint='give each term one class; or state a purpose: --sensitive "why", which is logged',
        )


def refuse_few_apart(name: str, parameter: str, other: str, counts: pa.Table) -> None:
    """Refuse a call on perceived labels in which few images have a label in one relation, and none in another.

    Args:
        name: The audit.
        parameter: The one relation.
        other: The other one.
        counts: How many images have each label of it (``n_label``), and how many of these one of the other (``count``); in the
            row whose label is NULL, those of all labels.

    Raises:
        SensitiveError: They are fewer than ``MIN_COUNT``, and sums beside those of another audit would tell of them.

    Example:
        >>> refuse_few_apart("f", "groups", "others", pa.table({"label": [None], "count": [40], "n_label": [60]}))
    """
    for row in counts.filter(counts[LABEL].is_null()).to_pylist():
        if 0 < row["n_label"] - row["count"] < MIN_COUNT:
            raise SensitiveError(
                f"fewer than {MIN_COUNT} images have a label in {parameter!r} of {name}(), and none in {other!r}, who would be known",
                code="E3328",
                hint='state a purpose: --sensitive "why", which is logged',
            )


def refuse_left_out(name: str, unseen: Unseen, wider: str | None) -> None:
    """Refuse a call on rows that a view leaves out or draws by their labels, where any label is hidden.

    Args:
        name: The audit.
        unseen: Labels that no audit tells a number of.
        wider: The call of all rows that a view leaves some of out; of a view that draws none.

    Raises:
        SensitiveError: There are such labels: without unclear ones, hidden labels that are one with these would be known; and
            the size of a subset that has as many images of one label as there are of another would tell how many that are.

    Example:
        >>> from counterbalance.engine.disclosure.protection import Unseen
        >>> refuse_left_out("leakage", Unseen(((None, False, frozenset()),)), None)
    """
    if not any(labels for _, _, labels in unseen.labels):
        return
    if wider is not None:
        raise _too_close(name, wider)
    raise SensitiveError(
        f"{name}() of a subset that is drawn by how many images perceived labels have, of which some are hidden, would tell how many",
        code="E3321",
        hint='leave balanced_subset(…) out; or state a purpose: --sensitive "why", which is logged',
    )


def refuse_narrow(
    name: str, rows: pa.Table, others: Mapping[str, pa.Table], cells: Sequence[Cells], wider: str | None = None
) -> None:
    """Refuse a call on perceived labels that differs in few people from another that may be asked for.

    Args:
        name: The audit.
        rows: What it gives, before small cells are hidden.
        others: What it gives with other values of a parameter, by that parameter and value.
        cells: Its columns that count people or images.
        wider: Which of ``others`` is of all rows that a view leaves some of out, or names anew: what it lacks took no part there,
            but the label of all other images, which is hidden with any.

    Raises:
        SensitiveError: The difference of two cells is a count under ``MIN_COUNT``; or one call shows a cell that is hidden in
            the other so that a small one does not follow from its total.
    """
    if not others:
        return
    own = hidden_at_least(rows, cells)
    for what, other in others.items():
        blank = hidden_at_least(other, cells)
        for cell in cells:
            keys = [*cell.within, *cell.totals, *cell.by]
            for column in filter(None, (cell.count, cell.of)):
                one, two = (_by_key(table, keys, table[column]) for table in (rows, other))
                if any(0 < abs(one.get(k, 0) - two.get(k, 0)) < MIN_COUNT for k in one.keys() | two.keys()):
                    raise _too_close(name, what)
            one, two = (_by_key(table, keys, table[cell.count]) for table in (rows, other))
            here, there = (_by_key(t, keys, b[cell.count]) for t, b in ((rows, own), (other, blank)))
            unused = one.keys() - two.keys() if what == wider else ()
            if any(not here[k] for k in unused if OTHERS not in k) or any(
                one[k] == two[k] and here[k] != there[k] for k in one.keys() & two.keys()
            ):
                raise _too_close(name, what)


def _too_close(name: str, what: str) -> SensitiveError:
    """Return one error for cells that differ by few and for others that are hidden: which of both it is would name the small one."""
    return SensitiveError(
        f"{name}() and the same call {what} would together tell of fewer than {MIN_COUNT} of a cell",
        code="E3321",
        hint='ask for that one alone; or state a purpose: --sensitive "why", which is logged',
    )


def _by_key(rows: pa.Table, keys: Sequence[str], values: pa.Array | pa.ChunkedArray) -> dict[tuple[object, ...], float]:
    columns = [rows[k].to_pylist() for k in keys]
    names = list(zip(*columns, strict=True)) if columns else [()] * len(rows)
    return {name: float(v) for name, v in zip(names, values.to_pylist(), strict=True) if v is not None}
