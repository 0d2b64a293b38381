"""What names of a session mean: stored relations pinned at one snapshot, rows that were handed in, word lists."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from counterbalance.engine import lists
from counterbalance.engine.backends.duckdb.scan import registers_sources
from counterbalance.engine.catalog import error_views, freshness, runs, snapshot, system
from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RefusedError, SensitiveError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.plan import Combined, Relation, StoredTable, new_id
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterbalance.engine.catalog.closed import Closed
    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.catalog.pinned import Pinned

LABELS: Final = "labels"
_DIGESTED: Final = 1 << 20
"""Rows of at most so many bytes are told apart by a digest."""


class Declared(Protocol):
    """What is declared in a lake, whether or not a refresh has made it."""

    closed: Closed

    def missing(self, table: str) -> bool:
        """Tell whether a refresh has yet to make the table, or a column of it."""
        ...

    def types(self, table: str) -> Mapping[str, pa.DataType]:
        """Return the Arrow types of a table's columns, generated ones included."""
        ...

    def sensitive_columns(self, table: str) -> set[str]:
        """Return columns of a table that are shown only with a purpose."""
        ...


class Resolver:
    """Finds the relations that names stand for, each once.

    Args:
        main: The lake.
        attached: Other lakes by name.
        sensitive: Whether perceived labels are read.
        declared: What is declared in the lake; relations that no refresh has made yet are then there, without rows.
        computes: Nothing is read from a materialized view but where it is named, as while views are computed; of what is declared
            only base tables that hold nothing have the columns that no refresh could make.
    """

    def __init__(
        self,
        main: Pinned,
        attached: Mapping[str, Pinned],
        *,
        sensitive: bool,
        declared: Declared | None = None,
        computes: bool = False,
    ) -> None:
        self.main, self.attached, self.sensitive = main, attached, sensitive
        self._takes_views = declared is None and not computes
        self._fresh: dict[str, bool] = {}
        self._declared, self._computes = declared, computes
        self._known: dict[tuple[str | None, str, bool], Relation] = {}
        self._calls: dict[str, Mapping[str, str]] = {}
        self.bound: dict[str, Relation] = {}

    def renew(self, main: Pinned) -> None:
        """Read the lake at other versions from here on."""
        self.main = main
        self._known.clear()
        self._calls.clear()
        self._fresh.clear()

    @property
    def has_unmade(self) -> bool:
        """Return whether a relation was named that no refresh has made."""
        return any(relation.is_unmade for relation in self._known.values())

    def is_past(self, lake: str | None) -> bool:
        """Tell whether a lake is read as it was at another moment; ``None`` for the session's own."""
        pinned = self.attached.get(lake or "", self.main)
        return pinned.snapshot.moment is not None

    @property
    def versions(self) -> Mapping[str, int]:
        """Return the pinned version of every table of the lake."""
        return self.main.snapshot.versions

    def lakes(self) -> frozenset[str]:
        """Return the names of the attached lakes."""
        return frozenset(self.attached)

    def sensitive_attributes(self) -> frozenset[str]:
        """Return the attributes whose labels need a purpose."""
        lakes = (self.main, *self.attached.values())
        return frozenset().union(*(system.sensitive_attributes(lake.codes) for lake in lakes))

    def names(self) -> list[str]:
        """Return the names of all relations that can be written in FROM."""
        stored = {v for v in self.versions if "/" not in v} | set(BASE_TABLES)
        attached = {
            f"{a}.{t}" for a, p in self.attached.items() for t in (*p.snapshot.versions, *BASE_TABLES) if "/" not in t
        }
        attached |= {f"{a}.{q.name}" for a in self.attached for q in queries.sound() if q.kind == "view"}
        own = {
            *queries.queries(),
            *SIGNATURES,
            *(f"meta.{n}" for n in system.DOCS),
            *(f"lists.{n}" for n in lists.names()),
        }
        return sorted(stored | attached | own)

    # -- relations ---------------------------------------------------------------------------------------------------

    def relation(self, schema: str | None, name: str, *, trusted: bool) -> Relation | None:
        """Return the relation of a name, or ``None``.

        Args:
            schema: The lake, ``meta`` or ``lists``; ``None`` for the session's own lake.
            name: In lower case.
            trusted: Whether who asks may read perceived labels.

        Raises:
            SensitiveError: It holds perceived labels, and who asks may not read them.
            NotFoundError: It is a view that no refresh has made.
            RefusedError: A view that is declared would read a system table.
        """
        if schema == "main":
            schema = None
        if schema is None and name in self.bound:
            return self.bound[name]
        trusted = trusted and (name == LABELS or self._is_closed_view(schema, name))
        key = (schema, name, trusted)
        if key not in self._known:
            found = self._find(schema, name, trusted=trusted)
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]

    def _find(self, schema: str | None, name: str, *, trusted: bool) -> Relation | None:
        if schema == "meta":
            return self._system(name)
        if schema == "lists":
            shown = f"lists.{name}"
            return Relation(shown, shown, lists.wordlist(name)) if name in lists.names() else None
        pinned = self.main if schema is None else self.attached.get(schema)
        if pinned is None or "/" in name:  # folders of a lake are closed: they hold the journal and sensitive labels
            return None
        if schema is None and self._declared is not None and self._is_unmade(self._declared, name):
            return self._unmade(self._declared, name)
        shown = name if schema is None else f"{schema}.{name}"
        if trusted and name == LABELS:
            return self._all_labels(pinned, shown)
        if trusted:
            return self._stored(pinned, name, shown, new_id(shown), closed=True)
        if self._is_closed_view(schema, name):
            raise SensitiveError(
                f"{shown} holds perceived-demographic labels", code="E3308", hint='state a purpose: --sensitive "why"'
            )
        return self._stored(pinned, name, shown, shown)

    def _is_closed_view(self, schema: str | None, name: str) -> bool:
        """Tell whether it is a view of perceived labels, which this session reads through audits only."""
        pinned = self.main if schema is None else self.attached.get(schema)
        if pinned is None or self.sensitive or name not in pinned.snapshot.versions:
            return False
        return name in pinned.closed.views

    def _stored(self, pinned: Pinned, name: str, shown: str, id_: str, *, closed: bool = False) -> Relation | None:
        version = pinned.snapshot.versions.get(name)
        if version is None:
            if name in pinned.declared.views():
                raise NotFoundError(
                    f"the materialized view {shown} was not computed yet", code="E1035", hint=f"REFRESH {shown}"
                )
            base = BASE_TABLES.get(name)
            return None if base is None else Relation(id_, shown, base.schema().empty_table())
        dataset = tables.open_table(pinned.location, name, version)
        if dataset is None:
            return None
        known = {c: v for (t, c), v in pinned.codes.items() if t == name and None not in v}
        ours = name in pinned.snapshot.coded
        codes = known if ours and registers_sources() else {}
        by_index = ours or name.rpartition("/")[2] not in BASE_TABLES
        table = StoredTable(pinned, name, dataset, codes, self._hidden(pinned, name), by_index=by_index)
        return Relation(id_, shown, table, closed=closed)

    def _hidden(self, pinned: Pinned, stored: str) -> frozenset[str]:
        return frozenset() if self.sensitive else pinned.closed.hidden(stored)

    def _all_labels(self, pinned: Pinned, shown: str) -> Relation | None:
        """Open and perceived labels together, under a name that no text can know."""
        if snapshot.SENSITIVE_LABELS not in pinned.snapshot.versions:
            return self._stored(pinned, LABELS, shown, shown)
        stored = [name for name in (LABELS, snapshot.SENSITIVE_LABELS) if name in pinned.snapshot.versions]
        found = (self._stored(pinned, name, shown, new_id(name)) for name in stored)
        parts = tuple(part for part in found if part is not None)
        union = " UNION ALL BY NAME ".join(f'SELECT * FROM "{part.id}"' for part in parts)
        return Relation(new_id(shown), shown, Combined(parts, union))

    def _is_unmade(self, declared: Declared, name: str) -> bool:
        is_empty = name in BASE_TABLES and name not in self.versions
        return declared.missing(name) and (is_empty or not self._computes)

    def _unmade(self, declared: Declared, name: str) -> Relation:
        """Return a relation that is declared, and that no refresh has made, without rows."""
        if name in declared.closed.views and not self.sensitive:
            raise closed_to_all(f"view {name}")
        hidden = set() if self.sensitive else declared.sensitive_columns(name)
        blobs = BASE_TABLES[name].blobs if name in BASE_TABLES else ()
        kinds = declared.types(name).items()
        schema = pa.schema([(n, t) for n, t in kinds if n not in hidden and n not in blobs])
        return Relation(new_id(name), name, schema.empty_table(), is_unmade=True)

    def _system(self, name: str) -> Relation | None:
        shown = f"meta.{name}"
        if self._declared is not None:
            hint = "what is stored is made of tables, views and word lists"
            raise RefusedError(f"{shown} cannot be read by a view", code="E3211", hint=hint)
        if name == "access" and not self.sensitive:
            raise SensitiveError(
                "the access log is read in a session with a purpose", code="E3305", hint='--sensitive "why"'
            )
        rows = system.relation(
            self.main.location, name, dict(self.versions), self.main.closed, sensitive=self.sensitive
        )
        if rows is None or name != "errors":
            return None if rows is None else Relation(shown, shown, rows)
        parts = self._skipped()
        if not parts:
            return Relation(shown, shown, rows)
        own = Relation(new_id(shown), shown, rows)
        union = " UNION ALL BY NAME ".join([f'SELECT * FROM "{own.id}"', *parts.values()])
        return Relation(shown, shown, Combined((own, *parts), union))

    def _skipped(self) -> dict[Relation, str]:
        """Return views that say what was skipped, and were computed, each with the query of its rows as errors."""
        views = [v for v in error_views.views(self.main.declared.views()) if v.name in self.versions]
        computed = runs.refreshes(self.main.location, ("run_id", "at"), modes=runs.WROTE) if views else {}
        found: dict[Relation, str] = {}
        for view in views:
            if self.sensitive or view.name not in self.main.closed.views:
                relation = self._stored(self.main, view.name, view.name, new_id(view.name))
                table = None if relation is None else relation.table
                if relation is not None and table is not None and error_views.is_told(view, table.dataset.schema.names):
                    found[relation] = error_views.select(view, relation.id, computed.get(view.target))
        return found

    def bind(self, name: str, rows: pa.Table, of: str | None = None) -> Relation:
        """Make rows of the caller's known to queries, under a fresh name.

        Args:
            name: What the fresh name begins with.
            rows: The rows.
            of: Where they are from, for whoever reads the parameters of an audit.
        """
        relation = bound_rows(name, rows, of)
        self.bound[relation.id] = relation
        return relation

    # -- what is stored of them --------------------------------------------------------------------------------------

    def uncomputed(self, relation: Relation) -> list[str]:
        """Return generated columns of a relation that no refresh has computed: all NULL."""
        table = relation.table
        if table is None or table.lake is not self.main:
            return []
        if not any(target.startswith(f"{table.name}.") for target in self.main.declared.by_target):
            return []
        return [c for c in freshness.uncomputed(table.dataset, self.main.declared, table.name) if c not in table.hidden]

    def stored_calls(self, relation: Relation | None, expand: Callable[[str], str]) -> Mapping[str, str]:
        """Return expressions that a relation holds the values of, fresh in every row, each with its column.

        Args:
            relation: The relation.
            expand: Gives the text of a view's query with all views in it expanded.
        """
        from counterbalance.engine.refresh.fingerprint import Fingerprints

        table = None if relation is None else relation.table
        if relation is None or table is None:
            return {}
        if relation.id not in self._calls:
            known = Fingerprints(table.lake.location, table.lake.declared, expand)
            self._calls[relation.id] = freshness.fresh_calls(
                table.dataset, table.lake.declared, table.name, known.of, table.hidden
            )
        return self._calls[relation.id]

    @property
    def materialized(self) -> Iterable[Definition]:
        """Return the materialized views that queries may read in place of what they keep: open ones, without further columns."""
        declared = self.main.declared
        views = declared.views().values() if self._takes_views else ()
        return [v for v in views if v.name not in self.main.closed.views and not declared.columns(v.name)]

    def is_fresh(self, view: Definition, expand: Callable[[str], str]) -> bool:
        """Tell whether the rows of a materialized view are those that its query gives now, looked up once.

        Args:
            view: The view.
            expand: Gives the text of a view's query with all views in it expanded.
        """
        if view.name not in self._fresh:
            self._fresh[view.name] = view.name in self.versions and self._is_fresh(view, expand)
        return self._fresh[view.name]

    def _is_fresh(self, view: Definition, expand: Callable[[str], str]) -> bool:
        from counterbalance.engine.refresh.fingerprint import Fingerprints

        lake = self.main
        last = runs.computed(lake.location).get(view.target)
        try:
            if last is None or last["fingerprint"] != Fingerprints(lake.location, lake.declared, expand).of(view):
                return False
        except CounterbalanceError:
            return False
        return not any(freshness.moved(lake.location, lake.declared, view, last, self.versions))

    def without_rows(self, used: Iterable[Relation]) -> list[str]:
        """Return the names of those that are base tables of which nothing is stored."""
        shown = {
            r.shown: r for r in used if r.shown.rpartition(".")[2] in BASE_TABLES and not (r.is_bound or r.is_unmade)
        }
        return [name for name, r in sorted(shown.items()) if not any(t.dataset.count_rows() for t in r.tables)]

    def closed_reads(self, relations: Iterable[Relation], sql: str) -> dict[str | None, list[str]]:
        """Return closed views and columns that a query reads, by attached lake, ``None`` for the lake itself.

        Args:
            relations: What it reads.
            sql: The query.
        """
        found: dict[str | None, set[str]] = {}
        lakes = {id(pinned): name for name, pinned in self.attached.items()}
        for relation in relations:
            found.setdefault(None, set()).update({relation.shown} if relation.shown == "meta.access" else ())
            for table in relation.behind():
                closed = table.lake.closed.read_by(table.name, sql)
                found.setdefault(lakes.get(id(table.lake)), set()).update(closed)
        return {lake: sorted(closed) for lake, closed in found.items()}


def bound_rows(name: str, rows: Any, of: str | None = None) -> Relation:
    """Return rows of a caller, or of a table function, as a relation with a description in the place of a name."""
    from counterbalance.engine.search.hits import is_whole

    schema, count = rows.schema, len(rows)
    is_table = isinstance(rows, pa.Table)
    digest, is_ranking = (_digest(rows), is_whole(rows)) if is_table else ("", False)
    what = f"<{'table' if of is None else of} of {len(schema)} columns, {count} rows{digest}>"
    id_ = f"{name.lower()}__{secrets.token_hex(6)}"  # callers write it, so that it needs no quotes
    return Relation(id_, name, rows, description=what, is_ranking=is_ranking)


def described(text: str, relations: Iterable[Relation]) -> str:
    """Return a relation argument as a reader understands it: rows that were bound are described, not named."""
    for relation in relations:
        if relation.description:
            name = re.escape(relation.id)
            text = re.sub(rf'"{name}"|(?<!\w){name}(?!\w)', relation.description.replace("\\", r"\\"), text)
    return text


def closed_to_all(what: str, hint: str = 'state a purpose: --sensitive "why"') -> SensitiveError:
    """Return the error for reading perceived labels without a purpose."""
    return SensitiveError(f"{what} holds perceived labels", code="E3308", hint=hint)


def _digest(rows: pa.Table) -> str:
    """Return what tells small tables apart by their content: the first digits of a SHA-256 of the rows."""
    import hashlib

    if rows.nbytes > _DIGESTED:
        return ""
    text = json.dumps([rows.column_names, rows.to_pylist()], default=str, ensure_ascii=False)
    return f", sha256 {hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"
