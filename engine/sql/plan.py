"""Plans: a query whose names are bound, ready to be rewritten and run.

``bind`` makes a plan of what was written, each function of ``rewrites`` makes another plan of it that reads less for the same
rows, and a backend runs the last one. The tables that a plan's tree names are ids of its relations, whatever they look like.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlglot import exp

from counterbalance.engine.sql.macros import inline
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    import lance
    import pyarrow as pa

    from counterbalance.engine.backends.duckdb.fetch import Picture
    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.sql.query_model import Meeting, Query, QueryParameter

OWN: Final = "~"
"""Parts the ids that are made up from their ends, which nobody can know; names of tables and views have none."""


_ENDS: Final = re.compile(rf"{OWN}[0-9a-f]{{12}}$", re.IGNORECASE)


def is_id(name: str) -> bool:
    """Tell whether a name looks like one that was made up, as it can be seen in the text of a plan."""
    return _ENDS.search(name) is not None


def new_id(hint: str) -> str:
    """Return a name that no text can know, and that no table, view or expression has.

    Example:
        >>> one, other = new_id("labels"), new_id("labels")
        >>> one == other, one.startswith("labels~")
        (False, True)
    """
    return f"{hint}{OWN}{secrets.token_hex(6)}"


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """A table of a lake at its pinned version, and what of it is shown.

    Args:
        lake: The lake at its snapshot.
        name: The table's name there, with its folder.
        dataset: The table.
        codes: Dictionaries of its coded columns, where these can be trusted.
        hidden: Columns that must not be seen.
        condition: Lance filter of the rows that are there at all.
        shows: What is there beside the visible columns: codes, bytes, these and numbers of rows, or a column of zeros that can be counted.
        by_index: Whether indexes of single values are used: other tools may write to a base table without keeping them.
    """

    lake: Pinned
    name: str
    dataset: lance.LanceDataset
    codes: Mapping[str, list[str | None]]
    hidden: frozenset[str]
    condition: str | None = None
    shows: Literal["columns", "codes", "bytes", "rows", "count"] = "columns"
    by_index: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Relations under one name: what a query over them, by their ids, gives."""

    parts: tuple[Relation, ...]
    sql: str


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """What a name in a plan stands for.

    Args:
        id: The name. Nothing is read from it.
        shown: The name that a reader knows it by.
        holds: A stored table, several relations together, an audit, or rows: anything with ``__arrow_c_stream__``, or with
            ``schema`` and ``rows(columns)``, which are read when they are asked for.
        ways: In words how it was made of another one, for whoever reads the text of a plan.
        sources: Stored tables whose rows are in it, where a rewrite or a search made it of other relations. Not these
            themselves: the first of them keeps it, and a circle would keep a dropped session's versions from a purge.
        closed: A view of perceived labels that audits may read without a purpose.
        description: What stands for it where the parameters of an audit are shown; empty for its name.
        is_ranking: A table function has ranked its rows, each once.
        is_unmade: It is declared, and no refresh has made it yet.
    """

    id: str
    shown: str
    holds: Any
    ways: tuple[str, ...] = ()
    sources: tuple[StoredTable, ...] = ()
    closed: bool = False
    description: str = ""
    is_ranking: bool = False
    is_unmade: bool = False
    _derived: dict[Hashable, Relation] = field(default_factory=dict)

    @property
    def table(self) -> StoredTable | None:
        """Return the stored table that it is, if it is one."""
        return self.holds if isinstance(self.holds, StoredTable) else None

    @property
    def tables(self) -> tuple[StoredTable, ...]:
        """Return the stored tables that it consists of, itself or as several together."""
        if isinstance(self.holds, Combined):
            return tuple(table for part in self.holds.parts for table in part.tables)
        return () if self.table is None else (self.table,)

    @property
    def is_bound(self) -> bool:
        """Return whether a caller handed its rows in, or a table function returned them."""
        return bool(self.description)

    def behind(self) -> Iterator[StoredTable]:
        """Yield stored tables whose rows are in it."""
        yield from self.tables
        yield from self.sources

    def derived(self, way: str, make: Callable[[], Any], *others: Relation, key: Hashable = None) -> Relation:
        """Return what is made of it, made once: rows, or the same table with more columns or fewer rows.

        Args:
            way: In a word how it is made, for whoever reads the text of a plan.
            make: Gives what the new relation holds.
            others: Further relations whose rows are in it.
            key: What tells it from others that are made in this way.
        """
        if (way, key) not in self._derived:
            ways = (*self.ways, way)
            id_ = new_id(OWN.join((self.shown, *ways)))
            sources = tuple(table for relation in (self, *others) for table in relation.behind())
            self._derived[way, key] = Relation(id_, self.shown, make(), ways, sources)
        return self._derived[way, key]

    def showing(self, shows: Literal["codes", "bytes", "rows", "count"]) -> Relation:
        """Return the same stored table with these columns beside the visible ones."""
        table = self.holds
        return self.derived(shows, lambda: replace(table, shows=shows))

    def narrowed(self, condition: str) -> Relation:
        """Return the rows of the stored table that a Lance filter keeps, of those that are there."""
        table = self.holds
        both = condition if table.condition is None else f"({table.condition}) AND ({condition})"
        return self.derived("only", lambda: replace(table, condition=both), key=condition)


class Later:
    """Rows that are computed when they are read for the first time."""

    def __init__(self, schema: pa.Schema, compute: Callable[[], pa.Table]) -> None:
        self.schema, self._compute = schema, compute
        self._rows: pa.Table | None = None

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        del requested_schema
        if self._rows is None:
            self._rows = self._compute()
        return self._rows.__arrow_c_stream__()


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many images, or other units, have each label of a relation.

    Args:
        plan: A row for every label, and one with NULL for all of them: category, label, count, n_label. ``count`` are those that
            have a label of ``beside``, too, if there is one. Labels of another category are no siblings; '' where there is none.
        parameter: The relation.
        beside: Another relation of the same call.
        side: Which of two datasets it is of.
        is_anywhere: Any column of the audit's rows that names something may hold its labels, as where labels stand for concepts.
    """

    plan: Plan
    parameter: str
    beside: str | None
    side: str | None
    is_anywhere: bool


@dataclass(frozen=True, slots=True)
class Checks:
    """What is counted beside a call on perceived labels.

    Args:
        doubles: By group relation, how many images have several labels there, and whether none may have.
        shared: By list of terms, how many are of several classes.
        vectors: By relation of vectors, how many cannot be compared, and how many lengths there are.
        label_counts: How many images have each closed label.
        labels: Labels that the caller asks about.
    """

    doubles: Mapping[str, tuple[Plan, bool]] = field(default_factory=dict)
    shared: Mapping[str, Plan] = field(default_factory=dict)
    vectors: Mapping[str, Plan] = field(default_factory=dict)
    label_counts: Sequence[LabelCounts] = ()
    labels: frozenset[str] = frozenset()


@dataclass(eq=False)
class AuditCall:
    """One call of an audit: a plan of its own, evaluated apart from the statement that it stands in.

    Args:
        query: The audit.
        plan: Its rows before small cells are hidden.
        min_count: The smallest count that is shown.
        params: The parameters that its rows carry, as JSON.
        closed: It reads perceived labels in a session without a purpose.
        in_order: The order of its rows tells nothing of what they count.
        alternatives: The same call with other values of a parameter that cuts the population, by what was changed.
        wider: That one of them which is of all rows that a view leaves some of out.
        leaves_out: A view among its arguments leaves rows of perceived labels out.
        drawn: It keeps as many of a label as there are of others.
        checks: What is counted beside it where it is closed.
        instead: Returns the plan of the same call, or of one of the alternatives, with some labels of its closed relations, by
            parameter, as one of the name that is given; over no labels at all without any. Held weakly, as the binder holds the call; its plan holds the binder.
        schema: Its columns before small cells are hidden, once they were looked up.
        rows: Its rows with small cells hidden, once they were computed.
    """

    query: Query
    plan: Plan
    min_count: int
    params: str
    closed: bool
    in_order: bool
    alternatives: Mapping[str, Plan]
    wider: str | None
    leaves_out: bool
    drawn: bool
    checks: Checks
    instead: Callable[..., Plan | None]
    schema: pa.Schema | None = None
    rows: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """Rows that the caller gave for a relation parameter: where, as what, as they wrote it, and where they are now."""

    where: str
    parameter: QueryParameter
    shown: str
    name: str


@dataclass(frozen=True, slots=True)
class Held:
    """A meeting of one call: the audit, and queries of the names on either side.

    Args:
        audit: Its name.
        meeting: What its front matter says.
        names: Queries of the distinct names, left and right.
    """

    audit: str
    meeting: Meeting
    names: tuple[Plan, Plan]


@dataclass(frozen=True, slots=True)
class Asked:
    """Open labels that a call was given, and a query of those that there are."""

    audit: str
    labels: tuple[tuple[str, str], ...]
    there: Plan


@dataclass(frozen=True, slots=True)
class Pooled:
    """Labels of an attribute whose annotators are taken together, and a query of these."""

    attribute: str
    annotators: Plan


@dataclass(slots=True)
class Facts:
    """What was found while a query was bound, for notes and errors.

    Args:
        text: What was written.
        changed: The plan's text is another one than what was written.
        reads_sensitive: Audits in it read perceived labels.
        hides_labels: It names ``labels``, and gets the open ones only.
        counts_closed: An audit in it counts perceived labels, without a purpose.
        reads_labels: It may read the perceived ones.
        answered: By stored column the call that is answered from it.
        given: Relation arguments of the caller, each with a query of its rows that stands alone.
        named: Labels that stand as arguments: the column they are values of, and the value.
        held: Relations of audits that should have names in common.
        asked: Labels that audits were given.
        pooled: Attributes whose annotators are taken together.
        mixed: Notes on relations of several lakes.
        used: Relations that were named, in the order they were met.
        audits: Names of the audits that it calls.
        hidden: Notes on audits that were asked about labels of which nothing is told.
        all_hidden: Notes on audits of which every row is hidden, for queries of which nothing else is said.
    """

    text: str = ""
    changed: bool = False
    reads_sensitive: bool = False
    hides_labels: bool = False
    counts_closed: bool = False
    reads_labels: bool = False
    answered: dict[str, str] = field(default_factory=dict)
    given: Callable[[], Iterator[tuple[Given, Plan]]] = field(default=lambda: iter(()))
    named: list[tuple[str, str]] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    pooled: list[Pooled] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    used: dict[str, Relation] = field(default_factory=dict)
    audits: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    all_hidden: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A query over relations.

    Args:
        tree: The query; its tables are ids of ``relations``, or names of its own expressions.
        relations: What it may name, by id; often more than it does.
        values: Values of ``$name``.
        verb: What stands before the query, such as ``EXPLAIN``.
        sql: Its text, once it is finished.
        as_written: That is what the user wrote, so that places in errors hold.
        shows_bytes: Its stars stand for pictures, too.
        pictures: Columns of the result that hold numbers of rows until their bytes are read, by name.
        binder: What bound it, which its audits may ask for further plans.
    """

    tree: exp.Query
    relations: Mapping[str, Relation]
    values: Mapping[str, Any] = field(default_factory=dict)
    verb: str = ""
    sql: str | None = None
    as_written: bool = False
    shows_bytes: bool = False
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    binder: object = None

    def relation(self, table: exp.Table) -> Relation | None:
        """Return what a table of its tree stands for; ``None`` for an expression of its own."""
        return None if table.args.get("db") else self.relations.get(table.name)

    def with_tree(self, tree: exp.Query, made: Sequence[Relation] = ()) -> Plan:
        """Return the plan of a rewritten query, over its relations and those that the rewrite made."""
        relations = {**self.relations, **{r.id: r for r in made}}
        return replace(self, tree=tree, relations=relations)

    def finished(self, sql: str | None = None, *, last: bool = False) -> Plan:
        """Return the plan with its text, over no more relations and values than it names.

        Args:
            sql: The text, where it is known.
            last: Nobody looks at the tree afterwards, so that making the text may change it, as for ``LISTAGG``.
        """
        if self.sql is not None:
            return self
        names, relations = self.placeholders(), {r.id: r for r in self.needed()}
        values = {name: value for name, value in self.values.items() if name in names}
        if sql is None:
            inline(self.tree)
        return replace(self, relations=relations, values=values, sql=sql or to_sql(self.tree, last=last))

    @property
    def reads_bytes(self) -> bool:
        """Tell whether it reads columns of bytes."""
        return any(table.shows in {"bytes", "rows"} for relation in self.needed() for table in relation.tables)

    def needed(self) -> list[Relation]:
        """Return the relations that it names, in order of their ids."""
        if self.sql is not None:
            return list(self.relations.values())
        names = sorted({t.name for t in find_all(self.tree, exp.Table)} & self.relations.keys())
        return [self.relations[name] for name in names]

    @property
    def audits(self) -> list[AuditCall]:
        """Return the audits whose rows it reads."""
        return [r.holds for r in self.needed() if isinstance(r.holds, AuditCall)]

    def placeholders(self) -> set[str]:
        """Return the names of the values that it takes."""
        return {n.name for n in find_all(self.tree, exp.Placeholder, exp.Parameter)}
