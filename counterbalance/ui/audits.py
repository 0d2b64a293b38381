"""Audits: all by subject, and each with a form of its parameters, its rows, its chart and the images behind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import orjson
import pyarrow as pa
from starlette.routing import Route

from counterbalance.engine import lists
from counterbalance.engine.errors import CounterbalanceError, RequestError
from counterbalance.engine.sql import arguments, parse, queries, requirements
from counterbalance.report import behind, charts
from counterbalance.report.figures import cell
from counterbalance.report.renderer import hidden
from counterbalance.shell.describe import by_subject, required
from counterbalance.shell.parameters import argument
from counterbalance.ui import fields
from counterbalance.ui.answers import as_json, as_rows, page, status_of
from counterbalance.ui.selection import MARKS
from counterbalance.ui.workplace import ROWS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query, QueryParameter
    from counterbalance.ui.workplace import Workplace

SHOWN: Final = 200
"""Rows of a page's table, at most."""
_ASIDE: Final = frozenset({"params", "suppressed", "reason", "n_suppressed"})
"""Columns that are told in words."""
_OF_TEXTS: Final = re.compile(r"\b(word|term)_concepts\b")
"""Relations whose concepts are words of texts."""
_OF_BOXES: Final = re.compile(r"\bcategory_concepts\b")
"""Relations whose concepts are categories of boxes."""
_BY_WORDS: Final = re.compile(r"\s*(clear_labels\s*\(\s*)?caption_gender[\s)]*")
"""Relations whose labels are those of the words that name people."""
_LABELS: Final = (("label", "groups"), ("other", "others"))
_GENDERS: Final[dict[Any, tuple[str, ...]]] = {
    "female": ("female",),
    "male": ("male",),
    "mixed": ("female", "male"),
}
"""By label whom the words name that gave it."""
_LONGEST: Final = 100
"""Letters of a word that is marked."""
_MOST: Final = 2000
"""Letters of all words of a row that are marked: they stand in its address."""
_NAME: Final = re.compile(r"\s*\w+(\.\w+)?\s*")
CLOSED: Final = "State a purpose to see single images: these rows are about perceived labels."


async def overview(request: Request) -> Response:
    """List all audits by subject, and what each lacks in this lake."""
    found = await _listed(request)
    subjects: dict[str, list[dict[str, Any]]] = {}
    for audit in found:
        subjects.setdefault(audit["subject"], []).append(audit)
    return page(request, "audits", subjects=subjects)


async def listing(request: Request) -> Response:
    """List all audits, and what each lacks in this lake."""
    return as_json({"audits": await _listed(request)})


async def audit(request: Request) -> Response:
    """Show an audit: what it answers, a form, and its rows where all that it needs is given."""
    query = queries.audit(request.path_params["name"].lower())
    typed = {key.lower(): text for key, text in request.query_params.items() if text.strip()}
    given = {key: argument(text) for key, text in typed.items()}
    lacking = [p for p in query.parameters if required(p) and p.name not in given]
    place: Workplace = request.app.state.place
    error, shown = None, None
    try:
        if not lacking:
            shown = await place.ask(request, partial(_shown, query, given), apart=_is_own_sql(query, given))
    except CounterbalanceError as failed:
        error = failed
    form = await place.ask(request, lambda _, session: fields.form(session, query, typed), plain=True)
    contents = {
        "query": query,
        "paragraphs": [" ".join(part.split()) for part in query.text.strip().split("\n\n") if part.strip()],
        "form": form,
        "lacking": lacking,
        "error": error,
        "shown": shown,
        "closed": CLOSED,
        "base": f"/lakes/{quote(request.path_params['lake'])}",
    }
    return page(request, "audit", status=200 if error is None else status_of(error), **contents)


async def described(request: Request) -> Response:
    """Describe an audit: what it answers, and its parameters with their types."""
    return as_json(_fields(queries.audit(request.path_params["name"].lower())))


async def counted(request: Request) -> Response:
    """Run an audit with ``{"parameters": {…}}``, and return its rows."""
    query = queries.audit(request.path_params["name"].lower())
    given = await _parameters(request)
    place: Workplace = request.app.state.place

    def work(_: Lake, session: Session) -> tuple[pa.Table, list[str], str, list[str | None]]:
        rows, notes = _run(session, query, given)
        return rows, notes, call(query, given), behind.links(session, query, rows)[0]

    rows, notes, sql, images = await place.ask(request, work, apart=_is_own_sql(query, given))
    return as_rows(request, rows, notes=notes, sql=sql, images=images)


async def _parameters(request: Request) -> dict[str, Any]:
    """Return the values of a body, which are typed as on a command line or of JSON's types."""
    try:
        body = orjson.loads(await request.body() or b"{}")
    except orjson.JSONDecodeError:
        body = None
    given = body.get("parameters", {}) if isinstance(body, Mapping) else None
    if not isinstance(given, Mapping):
        hint = '{"parameters": {"min_count": 20}}, or {} for the defaults'
        raise RequestError("the body is not an object with parameters", code="E3750", hint=hint)
    return {key.lower(): argument(value) if isinstance(value, str) else value for key, value in given.items()}


async def _listed(request: Request) -> list[dict[str, Any]]:
    place: Workplace = request.app.state.place
    return await place.ask(request, lambda _, session: _of_lake(session), plain=True)


def _of_lake(session: Session) -> list[dict[str, Any]]:
    """Return name, subject and doc of all audits, and what is missing: base tables without rows, relations to be given."""
    there = session.filled()
    found = []
    for subject, audits in by_subject(queries.audits()).items():
        for query in audits:
            missing = requirements.missing(_needs(query.name, query.sql), there)
            empty = [*filter(requirements.is_stored, missing)]
            given = [n.removesuffix(requirements.GIVEN) for n in missing if n.endswith(requirements.GIVEN)]
            more = {"subject": subject, "empty": empty, "given": given}
            found.append({"name": query.name, "doc": query.doc, **more})
    return found


@cache
def _needs(name: str, sql: str) -> requirements.Needs:
    """Return what an audit needs: it takes a moment, and is the same until its file is another one."""
    del sql
    return requirements.of_audit(queries.audit(name))


def _fields(query: Query) -> dict[str, Any]:
    names = ("name", "type", "default", "doc", "columns", "choices", "min", "max", "above", "below", "optional")
    parameters = [{n: getattr(p, n) for n in names} | {"required": required(p)} for p in query.parameters]
    told = {n: getattr(query, n) for n in ("name", "subject", "doc", "text", "source")}
    return {**told, "parameters": parameters}


def _is_own_sql(query: Query, given: Mapping[str, Any]) -> bool:
    """Tell whether a relation is more than a name: it may hold a query of the person's own, which runs apart.

    Raises:
        RequestError: It is a file of this machine, which a browser has no business with.
    """
    relations = {p.name for p in query.parameters if p.is_relation}
    texts = {name: value for name, value in given.items() if name in relations and isinstance(value, str)}
    for name, text in texts.items():
        if lists.is_file(text):
            raise RequestError(
                f"{name}: pages read no files", code="E3756", hint="ingest it, or name a table, a view or a query"
            )
    return any(_NAME.fullmatch(text) is None for text in texts.values())


def _run(session: Session, query: Query, given: Mapping[str, Any]) -> tuple[pa.Table, list[str]]:
    """Return rows and notes of an audit."""
    result = session.audit(query.name, max_rows=ROWS, **given)
    rows = result.to_arrow()
    return rows, list(dict.fromkeys(result.notes))


def _shown(query: Query, given: Mapping[str, Any], lake: Lake, session: Session) -> dict[str, Any]:
    """Return what a page shows of the rows of an audit."""
    rows, notes = _run(session, query, given)
    few = rows.slice(0, SHOWN)
    links, is_closed = behind.links(session, query, few)
    columns = [name for name in rows.column_names if name not in _ASIDE]
    cut = [f"The table shows {SHOWN} of {rows.num_rows:,} rows; the SQL gives all."] if rows.num_rows > SHOWN else []
    numbers = {n for n in columns if _is_number(rows.schema.field(n).type)}
    words = _words(query, rows, session) if any(links) else {}
    return {
        "columns": columns,
        "numbers": numbers,
        "rows": [_row(row, columns, numbers, link, words) for row, link in zip(few.to_pylist(), links, strict=True)],
        "has_links": any(links),
        "is_closed": is_closed,
        "total": rows.num_rows,
        "chart": charts.draw(rows, behind.keys(query, rows), query.doc),
        "notes": [*hidden(rows.to_pylist()), *cut, *notes],
        "parameters": orjson.loads(rows["params"][0].as_py())
        if rows.num_rows and "params" in rows.column_names
        else {},
        "copies": copies(lake.uri, query, given, session.purpose),
        "pin": pinned(query, given),
        "expanded": _expanded(session, call(query, given)),
    }


def _row(
    row: Mapping[str, Any],
    columns: Sequence[str],
    numbers: Collection[str],
    link: str | None,
    words: Mapping[str | None, Sequence[str]],
) -> dict[str, Any]:
    """Return cells as text; in a row that is suppressed, ``hidden`` for numbers that are not there."""
    lacks = {name for name in numbers if row[name] is None} if row.get("suppressed") else set()
    return {
        "cells": [(name, "hidden" if name in lacks else cell(row[name])) for name in columns],
        "hidden": lacks,
        "why": row.get("reason") or "",
        "link": link and urlencode([("sql", link), *_marks(row, words)], quote_via=quote),
        "about": ", ".join(str(row[name]) for name in columns if isinstance(row[name], str)) or "this row",
    }


def _marks(row: Mapping[str, Any], words: Mapping[str | None, Sequence[str]]) -> list[tuple[str, str]]:
    """Return what of its images a row is about, which their pages mark: words, those that name people, and boxes."""
    given = orjson.loads(row.get("params") or "{}")
    boxes = [row["concept"]] if row.get("concept") and _OF_BOXES.search(str(given.get("concepts"))) else []
    boxes = [category for category in boxes if len(category) <= _LONGEST]
    word = row.get("term") or (
        (row.get("keyword") or row.get("concept")) if _OF_TEXTS.search(str(given.get("concepts"))) else None
    )
    found = words.get(row.get("class", row.get("country")), ()) if word is None else [word]
    short = [word for word in found if isinstance(word, str) and len(word) <= _LONGEST]
    is_short = len(short) <= MARKS and sum(map(len, short)) <= _MOST
    said = {_GENDERS.get(row.get(name), ()) for name, of in _LABELS if _BY_WORDS.fullmatch(str(given.get(of)))}
    genders = sorted(set(chain(*said)))
    told = {"mark": short if is_short else [], "gendered": genders, "box": boxes}
    return [(name, text) for name, texts in told.items() for text in texts]


def _words(query: Query, rows: pa.Table, session: Session) -> dict[str | None, list[str]]:
    """Return the words of each class, or country, that rows are about; of None those of all classes."""
    if "country" in rows.column_names:
        relation, of = "lists.countries", "country"
    elif "class" in rows.column_names and any(p.name == "terms" for p in query.parameters) and rows.num_rows:
        relation, of = orjson.loads(rows["params"][0].as_py())["terms"], "class"
    else:
        return {}
    found: dict[str | None, list[str]] = {}
    listed = session.sql(f"SELECT DISTINCT term, {of} FROM {relation} AS t WHERE term IS NOT NULL ORDER BY term, {of}")
    for term, kind in listed.fetchall():
        found.setdefault(kind, []).append(term)
    return found | ({None: [*dict.fromkeys(chain(*found.values()))]} if of == "class" else {})


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _expanded(session: Session, text: str) -> str:
    try:
        return session.expand(text)
    except CounterbalanceError as error:
        return f"-- cannot be shown as plain SQL: {error.message}"


def call(query: Query, given: Mapping[str, Any]) -> str:
    """Return an audit with its parameters as a query, as a person types it."""
    return f"SELECT * FROM {pinned(query, given)}"


def pinned(query: Query, given: Mapping[str, Any]) -> str:
    """Return an audit with its parameters as ``report --pin`` takes it."""
    known = {p.name: p for p in query.parameters}
    parts = [f"{name} := {_as_sql(known[name], value)}" for name, value in given.items()]
    return f"{query.name}({', '.join(parts)})"


def _as_sql(parameter: QueryParameter, value: Any) -> str:
    if not parameter.is_relation:
        return parse.to_sql(arguments.literal(parameter, value, repr(parameter.name)))
    if lists.is_file(str(value)):
        return parse.as_text(str(value))
    return parse.to_sql(arguments.relation(str(value), repr(parameter.name)))


def copies(uri: str, query: Query, given: Mapping[str, Any], purpose: str | None) -> dict[str, str]:
    """Return an audit with its parameters as SQL, as Python, and as a command."""
    place = absolute(uri)
    known = {p.name: p for p in query.parameters}
    values = {name: _as_python(known[name], value) for name, value in given.items()} | (
        {"sensitive": repr(purpose)} if purpose else {}
    )
    arguments_ = "".join(f", {name}={value}" for name, value in values.items())
    words = [f"{name}={_as_word(value)}" for name, value in given.items()]
    more = ["--sensitive", purpose] if purpose else []
    return {
        "SQL": call(query, given),
        "Python": "import counterbalance as cb\n\n"
        f"rows = cb.connect({place!r}).audit({query.name!r}{arguments_}).to_arrow()",
        "CLI": " ".join(map(_quoted, ["counterbalance", "audit", place, query.name, *words, *more])),
    }


def absolute(uri: str) -> str:
    """Return a lake's place as any folder of this machine may name it."""
    return uri if "://" in uri else str(Path(uri).absolute())


def _as_python(parameter: QueryParameter, value: Any) -> str:
    if parameter.is_relation:
        return repr(str(value))
    return repr(arguments.constant(arguments.literal(parameter, value, repr(parameter.name)), parameter.name))


def address(name: str, given: Mapping[str, Any]) -> str:
    """Return the address of an audit's page with its parameters, under that of its lake.

    Example:
        >>> address("hate_content_rate", {"attribute": "hateful", "tau": [0.5, 0.9]})
        '/audits/hate_content_rate?attribute=hateful&tau=%5B0.5%2C0.9%5D'
    """
    typed = urlencode({key: _as_word(value) for key, value in given.items()}, quote_via=quote)
    return f"/audits/{quote(name)}" + (f"?{typed}" if typed else "")


def _as_word(value: Any) -> str:
    if value is None:
        return "null"
    return orjson.dumps(value).decode() if isinstance(value, list | bool) else str(value)


def _quoted(word: str) -> str:
    """Return a word as a shell takes it; one with quotes of SQL in double quotes, which are easier to read.

    Example:
        >>> print(_quoted("groups=image_labels('scene')"), _quoted("a$b"), _quoted("k=5"))
        "groups=image_labels('scene')" 'a$b' k=5
    """
    return f'"{word}"' if "'" in word and not {*word} & {*'"$`\\!'} else shlex.quote(word)


ROUTES: Final = (
    Route("/lakes/{lake}/audits", overview),
    Route("/lakes/{lake}/audits/{name}", audit),
    Route("/api/lakes/{lake}/audits", listing),
    Route("/api/lakes/{lake}/audits/{name}", described, methods=["GET"]),
    Route("/api/lakes/{lake}/audits/{name}", counted, methods=["POST"]),
)
