"""What a reader of a query's rows should know, as far as it is known before they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.engine.catalog import snapshot
from counterbalance.engine.sql.diagnostics import unknown_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import exp

    from counterbalance.engine.relations import Relations
    from counterbalance.engine.sql.expand import Expander


def of(relations: Relations, expander: Expander, trees: Iterable[exp.Query], at: str | None) -> list[str]:
    """Notes on an expanded query: lakes that meet, a moment ahead, hidden labels, labels that nothing has, stale columns.

    Args:
        relations: Of the session.
        expander: Which expanded it.
        trees: The expanded query, and those of the audits that it reads.
        at: The tag or moment that is read.
    """
    from sqlglot import exp

    notes = list(dict.fromkeys(expander.mixed))
    if at is not None and snapshot.is_ahead(at):
        notes.append(f"{at} has not come yet: this is the newest state, and can change")
    hidden = relations.sensitive_attributes()
    if expander.hides_labels and hidden and not relations.sensitive:
        notes.append(
            f"labels of {', '.join(sorted(hidden))} are not shown; state a purpose with --sensitive to read them"
        )
    for column, value in dict.fromkeys(expander.named):
        known = _known(relations, column)
        if known is not None and value not in known:
            notes.append(unknown_values.note(column, value, known))
    empty = [f"{r}.{c}" for r in sorted(expander.used) for c in relations.uncomputed(r)]
    named = {c.name for tree in trees for c in tree.find_all(exp.Column)} if empty else set()
    return notes + [f"{c} is NULL until it is computed: REFRESH {c}" for c in empty if c.partition(".")[2] in named]


def has_annotators(relations: Relations) -> bool:
    """Whether labels are by several, as far as is known without reading them."""
    return len(_known(relations, "annotator") or ()) > 1


def _known(relations: Relations, column: str) -> set[str] | None:
    """Every value of a column of labels, open and sensitive, or ``None`` where nobody can tell without reading them."""
    lakes = (relations.main, *relations.attached.values())
    return unknown_values.known([(lake.snapshot, lake.codes) for lake in lakes], column, closed=not relations.sensitive)
