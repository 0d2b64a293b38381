"""What a session's queries can name: stored relations pinned at one snapshot, rows that were handed in, functions.

A query runs on a cursor of its own that knows the relations it needs and no others.
"""

from __future__ import annotations

import json
import re
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import lists
from counterbalance.engine.backends.duckdb.register import register_function
from counterbalance.engine.backends.duckdb.scan import bytes_of, register, registers_sources, visible_schema
from counterbalance.engine.catalog import error_views, file_statistics, freshness, runs, snapshot, system
from counterbalance.engine.errors import NotFoundError, SensitiveError
from counterbalance.engine.functions import OpenFunctions
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import SIGNATURES, table_functions
from counterbalance.engine.sql import parse, queries
from counterbalance.engine.sql.count_sources import Counts
from counterbalance.engine.sql.rewrites import view_kernels
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import duckdb
    import lance
    import pyarrow as pa
    from sqlglot import exp

    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.errors import CounterbalanceError
    from counterbalance.engine.functions import Function
    from counterbalance.engine.search.index_search import Stored
    from counterbalance.engine.sql.expand import AuditCall

LABELS: Final = "labels"
_DIGESTED: Final = 1 << 20
"""Rows of at most so many bytes are told apart by a digest."""
OWN: Final = "~"
"""Parts the names that a session makes up for itself; names of tables and views have none."""


class Relations:
    """The relations of a session, as ``sql/expand.py`` asks for them (``sql/resolver.py``).

    Args:
        main: The lake.
        attached: Other lakes by name.
        sensitive: Whether sensitive labels are read.
        session: Runs expanded queries; functions are registered in its connection.
    """

    def __init__(
        self,
        main: Pinned,
        attached: Mapping[str, Pinned],
        *,
        sensitive: bool,
        session: Any,
    ) -> None:
        self.main, self.attached, self.sensitive = main, attached, sensitive
        self._session = session
        self._registered: dict[tuple[str | None, str, bool], str] = {}
        self.sources: dict[str, Callable[[duckdb.DuckDBPyConnection], object]] = {}
        self.codes: dict[str, Mapping[str, list[str | None]]] = {}
        self._bound: dict[str, str] = {}
        self.functions = OpenFunctions()
        self._stored: dict[str, tuple[Pinned, str, lance.LanceDataset]] = {}
        self._fresh: dict[str, Mapping[str, str]] = {}
        self._parts: dict[str, list[str]] = {}
        self._computed: dict[str, str] = {}
        self._closed: set[str] = set()
        self.raised: list[CounterbalanceError] = []
        self._bound_rows: dict[str, str] = {}
        self._rankings: set[str] = set()
        self._audits = 0
        self.token = secrets.token_hex(6)
        named = partial(_own_name, self.token)
        self.counts = Counts(self._stored, self.codes, self._parts, self.attached, self.sources, named)

    @property
    def is_past(self) -> bool:
        """Whether the lake is read as it was at another moment."""
        return self.main.snapshot.moment is not None

    def close(self) -> None:
        """Let models go."""
        self.functions.close()

    def renew(self, main: Pinned) -> None:
        """Read the lake at other versions from here on."""
        self.main = main
        for known in (self._registered, self.codes, self._stored, self._fresh, self._computed, self.counts):
            known.clear()

    @property
    def versions(self) -> Mapping[str, int]:
        """Pinned version of every table of the lake."""
        return self.main.snapshot.versions

    def table(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        """Registered name of a stored relation, or ``None``."""
        if schema == "main":
            schema = None
        if schema is None and name in self._bound:
            return self._bound[name]
        trusted = trusted and (name == LABELS or self._is_closed_view(schema, name))
        key = (schema, name, trusted)
        if key not in self._registered:
            found = self._register(schema, name, trusted=trusted)
            if found is None:
                return None
            self._registered[key] = found
        return self._registered[key]

    def _register(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        if schema == "meta":
            told = list(self._told()) if name == "errors" else []
            return self._register_rows(f"meta.{name}", self._system(name), told)
        if schema == "lists":
            return self._register_rows(f"lists.{name}", lists.wordlist(name) if name in lists.names() else None)
        pinned = self.main if schema is None else self.attached.get(schema)
        if pinned is None or "/" in name:  # folders of a lake are closed: they hold the journal and sensitive labels
            return None
        shown = name if schema is None else f"{schema}.{name}"
        if trusted and name != LABELS:
            return self._register_closed_view(pinned, name, shown)
        if trusted and snapshot.SENSITIVE_LABELS in pinned.snapshot.versions:
            return self._register_all_labels(pinned, shown)
        if self._is_closed_view(schema, name):
            raise SensitiveError(
                f"{shown} holds perceived-demographic labels", code="E3308", hint='state a purpose: --sensitive "why"'
            )
        return self._register_stored(pinned, name, shown)

    def _is_closed_view(self, schema: str | None, name: str) -> bool:
        """Whether it is a view of perceived labels, which this session reads through audits only."""
        pinned = self.main if schema is None else self.attached.get(schema)
        if pinned is None or self.sensitive or name not in pinned.snapshot.versions:
            return False
        return name in pinned.closed.views

    def _register_closed_view(self, pinned: Pinned, stored: str, shown: str) -> str | None:
        """A view of perceived labels, for audits, under a name that no text can know."""
        name = self._register_stored(pinned, stored, f"{shown}_{self.token}")
        self._closed |= set() if name is None else {name}
        return name

    def is_closed(self, name: str) -> bool:
        """Whether a registered relation is a view of perceived labels that only audits read."""
        return name in self._closed

    def _register_stored(self, pinned: Pinned, stored: str, shown: str) -> str | None:
        version = pinned.snapshot.versions.get(stored)
        if version is None:
            if stored in pinned.declared.views():
                raise NotFoundError(
                    f"the materialized view {shown} was not computed yet", code="E1035", hint=f"REFRESH {shown}"
                )
            base = BASE_TABLES.get(stored)
            return None if base is None else self._register_rows(shown, base.schema().empty_table())
        dataset = tables.open_table(pinned.location, stored, version)
        if dataset is None:
            return None
        self._stored[shown] = (pinned, stored, dataset)
        trusted_codes = stored in pinned.snapshot.coded
        codes = {c: v for (t, c), v in pinned.codes.items() if t == stored and None not in v} if trusted_codes else {}
        self._register_ways(shown, self._stored[shown], codes)
        return shown

    def _hidden(self, pinned: Pinned, stored: str) -> frozenset[str]:
        return frozenset() if self.sensitive else pinned.closed.hidden(stored)

    def _register_ways(
        self,
        shown: str,
        table: tuple[Pinned, str, lance.LanceDataset],
        codes: Mapping[str, list[str | None]],
        condition: str | None = None,
    ) -> None:
        """A stored table under the names that the rewrites of a query ask for."""
        pinned, stored, dataset = table
        hidden = self._hidden(pinned, stored)
        holding = partial(file_statistics.holding, pinned.location, stored, dataset, codes)

        def way(name: str, **how: bool) -> None:
            self.sources[name] = lambda connection: register(
                connection, name, dataset, codes=codes, hidden=hidden, condition=condition, holding=holding, **how
            )

        way(shown)
        if bytes_of(dataset):
            way(self.bytes_source(shown), with_bytes=True)
        if registers_sources():
            way(self._own(shown, "rows"), to_count=True)
            if codes:
                self.codes[shown] = codes
                way(self.coded_source(shown), show_codes=True)

    def failed(self, name: str, column: str) -> bool:
        """Whether a generated column of a registered relation has rows whose function failed."""
        from counterbalance.engine.refresh import failures as recorded

        pinned, stored, _ = self._stored[name]
        return len(recorded.of_column(pinned.location, stored, column)) > 0

    def uncomputed(self, name: str) -> list[str]:
        """Generated columns of a registered relation that no refresh has computed: all NULL."""
        if name not in self._stored or self._stored[name][0] is not self.main:
            return []
        pinned, stored, dataset = self._stored[name]
        return [
            c for c in freshness.uncomputed(dataset, pinned.declared, stored) if c not in self._hidden(pinned, stored)
        ]

    def narrowed(self, name: str, condition: str) -> str | None:
        """Registered name of the rows of a stored relation that a Lance filter keeps, or ``None``."""
        if name not in self._stored or not registers_sources():
            return None
        key = f"{name} {condition}"
        if key not in self._computed:
            shown = self._own(name, f"only_{len(self.sources)}")
            self._register_ways(shown, self._stored[name], dict(self.codes.get(name, {})), condition)
            self._computed[key] = shown
        return self._computed[key]

    def found(self, key: str, make: Callable[[], pa.Table]) -> str:
        """Registered name of rows that are made once a session."""
        if key not in self._computed:
            rows, shown = make(), self._own("found", str(len(self.sources)))
            self.sources[shown] = lambda connection: connection.register(shown, rows)
            self._computed[key] = shown
        return self._computed[key]

    def _register_all_labels(self, pinned: Pinned, shown: str) -> str:
        """Open and sensitive labels together, under a name that no text can know."""
        parts = []
        for stored in (LABELS, snapshot.SENSITIVE_LABELS):
            part = (
                self._register_stored(pinned, stored, f"{shown}/{stored}_part_{self.token}")
                if stored in pinned.snapshot.versions
                else None
            )
            parts += [part] if part is not None else []
        name = f"{shown}_{self.token}"
        union = " UNION ALL BY NAME ".join(f'SELECT * FROM "{p}"' for p in parts)

        def make(connection: duckdb.DuckDBPyConnection) -> None:
            for part in parts:
                self.sources[part](connection)
            connection.execute(f'CREATE TEMP VIEW "{name}" AS {union}')

        self.sources[name] = make
        self._parts[name] = parts
        return name

    def kernel(self, name: str, relations: set[str], scalars: Mapping[str, exp.Expr]) -> str | None:
        """Registered name of the rows of a view that are computed without its SQL, or ``None``."""
        if name == "ranked_once":  # what a table function ranked needs nothing
            return next(iter(relations & self._rankings), None)
        parts = {r: [p for p in self._parts.get(r, [r]) if p in self._stored] for r in relations}
        stored = {
            self._stored[own[0]][1].removeprefix("sensitive/"): [
                view_kernels.Stored(self._stored[p][0].location, *self._stored[p][1:], self.codes.get(p, {}))
                for p in own
            ]
            for own in parts.values()
            if own
        }
        is_own = all(
            self._stored[p][0] is self.main for own in parts.values() for p in own
        )  # what others read is logged
        if name != "roll_up" or not is_own or stored.keys() != {LABELS, "detections"}:
            return None
        work = view_kernels.roll_up(stored[LABELS], stored["detections"], scalars)
        if work is None:
            return None
        key = " ".join([name, *sorted(relations), *(parse.to_sql(s) for s in scalars.values())])
        if key not in self._computed:
            shown = self._own(name, str(len(self.sources) + 1))
            later = view_kernels.Later(work.schema, work.run)
            self.sources[shown] = lambda connection: connection.register(shown, later)
            self._computed[key] = shown
        return self._computed[key]

    def _register_rows(self, name: str, rows: pa.Table | None, more: Sequence[tuple[str, str]] = ()) -> str | None:
        """Rows, with those of ``more``: registered names of other relations, and what is selected from them."""
        if rows is None:
            return None
        own = self._own(name, "rows") if more else name
        parts = [self.sources[part] for part, _ in more]

        def make(connection: duckdb.DuckDBPyConnection) -> None:  # without self: that would be a cycle
            connection.register(own, rows)
            for part in parts:
                part(connection)
            if more:
                union = " UNION ALL BY NAME ".join([f'SELECT * FROM "{own}"', *(select for _, select in more)])
                connection.execute(f'CREATE TEMP VIEW "{name}" AS {union}')

        self.sources[name] = make
        return name

    def _told(self) -> Iterator[tuple[str, str]]:
        """Views that say what was skipped, and were computed: the names they are registered under, and their rows as errors."""
        views = [v for v in error_views.views(self.main.declared.views()) if v.name in self.versions]
        computed = runs.refreshes(self.main.location, ("run_id", "at"), modes=runs.WROTE) if views else {}
        for view in views:
            if self.sensitive or view.name not in self.main.closed.views:
                name = self._register_stored(self.main, view.name, self._own(view.name, "told"))
                if name is not None and error_views.is_told(view, self._stored[name][2].schema.names):
                    yield name, error_views.select(view, name, computed.get(view.target))

    def closed_reads(self, needs: Iterable[str], sql: str) -> dict[str | None, list[str]]:
        """Closed views and columns that a query reads, by attached lake, ``None`` for the lake itself; for the access log.

        Args:
            needs: Registered names of what it reads.
            sql: The query.
        """
        found: dict[str | None, set[str]] = {}
        lakes = {id(pinned): name for name, pinned in self.attached.items()}
        for name in needs:
            found.setdefault(None, set()).update({name} if name == "meta.access" else ())
            for pinned, stored, _ in self._behind(name):
                found.setdefault(lakes.get(id(pinned)), set()).update(pinned.closed.read_by(stored, sql))
        return {lake: sorted(closed) for lake, closed in found.items()}

    def _behind(self, name: str) -> Iterator[tuple[Pinned, str, lance.LanceDataset]]:
        """Stored tables behind a registered name, which a rewrite may have made of another one."""
        made_of = next((key.split() for key, made in self._computed.items() if made == name), [])
        for one in dict.fromkeys([name, name.partition(OWN)[0], name.partition("__bound_")[0], *made_of]):
            yield from (self._stored[part] for part in self._parts.get(one, [one]) if part in self._stored)

    def _system(self, name: str) -> pa.Table | None:
        if name == "access" and not self.sensitive:
            raise SensitiveError(
                "the access log is read in a session with a purpose", code="E3305", hint='--sensitive "why"'
            )
        return system.relation(
            self.main.location, name, dict(self.versions), self.main.closed, sensitive=self.sensitive
        )

    def coded_source(self, name: str) -> str:
        """Registered name under which a relation shows its codes."""
        return self._own(name, "codes")

    def bytes_source(self, name: str) -> str:
        """Registered name under which a relation shows its bytes."""
        return self._own(name, "bytes")

    @property
    def bound(self) -> Mapping[str, str]:
        """Names of rows that were handed in, as queries know them."""
        return self._bound

    def is_own(self, name: str) -> bool:
        """Whether only the session itself can have made a name up."""
        return self.token in name.lower()

    def _own(self, name: str, way: str) -> str:
        return _own_name(self.token, name, way)

    def evaluate(self, query: exp.Query) -> pa.Table:
        """Run an expanded query now."""
        rows: pa.Table = self._session.evaluate(query)
        return rows

    def stream(self, query: exp.Query) -> Iterator[pa.RecordBatch]:
        """Run an expanded query, batch after batch."""
        batches: Iterator[pa.RecordBatch] = self._session.stream(query)
        return batches

    def bind(self, name: str, rows: pa.Table, of: str | None = None) -> str:
        """Register rows under a fresh name, and make that name known to queries.

        Args:
            name: What the fresh name begins with.
            rows: The rows.
            of: Where they are from, for whoever reads the parameters of an audit.
        """
        from counterbalance.engine.search.ranking import is_whole

        fresh = f"{name}__bound_{len(self._bound) + 1}_{self.token}"
        self.sources[fresh] = lambda connection: connection.register(fresh, rows)
        self._bound[fresh] = fresh
        self._rankings |= {fresh} if is_whole(rows) else set()
        what = "table" if of is None else of
        self._bound_rows[fresh] = f"<{what} of {rows.num_columns} columns, {rows.num_rows} rows{_digest(rows)}>"
        return fresh

    def bind_found(self, name: str, table: Stored, hits: pa.Table) -> str:
        """Register what a search found, with the columns of its rows, under a fresh name."""
        from counterbalance.engine.search.late_materialization import Found

        found = Found(table, hits)
        fresh = self.bind(name, found.schema.empty_table())
        self._bound_rows[fresh] = f"<table of {len(found.schema)} columns, {len(hits)} rows>"
        self.sources[fresh] = lambda connection: found.register(connection, fresh)
        return fresh

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Registered name of a Python function with its constants fixed."""
        connection = self._session.connection_for_functions()
        return register_function(connection, function, constants, self.functions, self.raised)

    def stored_calls(self, name: str) -> Mapping[str, str]:
        """Expressions that a registered relation holds the values of, fresh in every row, each with its column."""
        if name not in self._fresh:
            found: Mapping[str, str] = {}
            if name in self._stored:
                pinned, stored, dataset = self._stored[name]
                hidden = self._hidden(pinned, stored)
                from counterbalance.engine.refresh.fingerprint import Fingerprints

                known = Fingerprints(pinned.location, pinned.declared, self._session)
                found = freshness.fresh_calls(dataset, pinned.declared, stored, known.of, hidden)
            self._fresh[name] = found
        return self._fresh[name]

    def without_rows(self, names: Iterable[str]) -> list[str]:
        """Those of the registered relations that are base tables of which nothing is stored."""
        found = []
        for name in sorted(names):
            table = name.removesuffix(f"_{self.token}")
            if table.rpartition(".")[2] in BASE_TABLES:
                stored = [self._stored[p][2] for p in self._parts.get(name, [name]) if p in self._stored]
                found += [] if any(dataset.count_rows() for dataset in stored) else [table]
        return found

    def counted(self, name: str) -> str | None:
        """Registered name under which a relation can be counted without its values, if there is one."""
        own = self._own(name, "rows")
        return own if own in self.sources else None

    def bytes_of(self, name: str) -> list[str]:
        """Columns of bytes of a registered relation."""
        return bytes_of(self._stored[name][2]) if name in self._stored else []

    def table_function(self, name: str) -> Callable[..., pa.Table] | None:
        """The function that returns rows (``top_k``, ``knn``), or ``None``."""
        return table_functions()[name] if name in SIGNATURES else None

    def stored_table(self, name: str) -> Stored | None:
        """The stored table that is registered under a name, with the columns that this session shows."""
        from counterbalance.engine.search.index_search import Stored

        if name not in self._stored:
            return None
        pinned, stored, dataset = self._stored[name]
        hidden = self._hidden(pinned, stored)
        return Stored(name, visible_schema(dataset, hidden), dataset, pinned.location, stored)

    def lakes(self) -> frozenset[str]:
        """Names of the attached lakes."""
        return frozenset(self.attached)

    def shown(self, text: str) -> str:
        """A relation argument as a reader understands it: rows that were bound are described, not named."""
        for name, rows in self._bound_rows.items():
            text = re.sub(rf'"{re.escape(name)}"|(?<!\w){re.escape(name)}(?!\w)', rows, text)
        return text

    def sensitive_attributes(self) -> frozenset[str]:
        """Attributes of this lake whose labels need a purpose."""
        lakes = (self.main, *self.attached.values())
        return frozenset().union(*(system.sensitive_attributes(lake.codes) for lake in lakes))

    def audit_name(self, audit: str) -> str:
        """A fresh name for the rows of an audit, which no text can know."""
        self._audits += 1
        return self._own(audit, f"audit_{self._audits}")

    def audit_call(self, call: AuditCall) -> None:
        """Make the rows of an audit known by the call's name, as long as somebody holds the call."""
        self._session.audit_call(call)

    def names(self) -> list[str]:
        """Names of all relations that can be written in FROM."""
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


def _own_name(token: str, name: str, way: str) -> str:
    """A name that no text can know, and that no table or view can have."""
    return f"{name}{OWN}{way}{OWN}{token}"


def _digest(rows: pa.Table) -> str:
    """What tells small tables apart by their content: the first digits of a SHA-256 of the rows."""
    import hashlib

    if rows.nbytes > _DIGESTED:
        return ""
    text = json.dumps([rows.column_names, rows.to_pylist()], default=str, ensure_ascii=False)
    return f", sha256 {hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"
