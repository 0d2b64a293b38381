"""``counterbalance audit --new`` and ``--check``: files of audits of one's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

    from counterbalance.engine.session import Session

_PROBLEMS: Final = 1
_OF_CELLS: Final = re.compile(r"gives no column .*, which its \[\[cells\]\] name$")
_TEMPLATE: Final = """\
/*--- toml
# What one line of `counterbalance audit --list` says.
answers = "How many images of each group have a caption with a word."
# More for whoever reads the result: what is counted, what the interval is, what it does not say.
details = \"\"\"
count of the n images with a label whose captions have the word, its share and Wilson's 95 % interval.
Labels are perceived, or those of words in captions; they say nothing of persons.
\"\"\"
subject = "what goes with whom"                # the heading it is listed under
source = "our own"                             # paper, equation, or whose idea it was

# A relation is a table, a view or a query; the columns that it must have are listed.
[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

# Any other parameter has a type (integer, double, varchar, boolean, or a list: integer[]) and stands in the SQL as $name.
# min, max, above, below: what numbers it takes; choices = ["a", "b"]: which texts; without a default it must be given.
[params.word]
type = "varchar"
default = "umbrella"
about = "word in lower case"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

# What the rows count. The engine hides counts under min_count, and others that would give them away: SQL computes, and hides
# nothing. count: the column; of: the total it is a part of; by: columns whose rows add up to that total; within: columns that
# tell several such tables apart, as here where every label has a total of its own; measures: what is hidden with the count
# (everything but the columns of by and within, when left out).
[[cells]]
count = "count"
of = "n"
within = ["label"]

[[cells]]
count = "n"
within = ["label"]
---*/
WITH found AS (
  SELECT image_id FROM word_concepts WHERE concept = $word
)
SELECT
  g.label,
  count(f.image_id) AS count,
  count(*) AS n,
  count(f.image_id) / count(*) AS share,
  wilson_low(count(f.image_id), count(*)) AS low,
  wilson_high(count(f.image_id), count(*)) AS high
FROM groups AS g
LEFT JOIN found AS f ON f.image_id = g.image_id
GROUP BY g.label
ORDER BY g.label
"""


def write(name: str) -> int:
    """Write the file of an audit to begin with, in this folder; never over another one.

    Raises:
        click.UsageError: The name is none for an audit.
        RequestError: The file is there, an audit of that name is installed, or SQL has the word for something else.
    """
    from counterbalance.engine.errors import RequestError
    from counterbalance.engine.sql import queries

    stem = name.removesuffix(".sql")
    if not stem.isidentifier():
        raise click.UsageError(f"{name!r} is not a name for an audit: letters, digits and underscores")
    path = Path(f"{stem}.sql")
    queries.refuse_name(stem, str(path))
    if stem.lower() in queries.queries():
        raise RequestError(f"there is an audit or a view called {stem!r}", code="E3034", hint="take another name")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE)
    except FileExistsError:
        raise RequestError(f"{path} is there already", code="E3034", hint="take another name") from None
    errors.remark(f"{path}: run it with  counterbalance audit LAKE ./{path}")
    return 0


def check(files: Sequence[str]) -> int:
    """Print everything that is wrong with the files of audits, a line each; returns the exit code."""
    problems = [problem for file in files for problem in sorted(_problems(Path(file)), key=_line)]
    for problem in problems:
        click.echo(problem)
    if not problems:
        errors.remark("no problem found")
    return _PROBLEMS if problems else 0


def _line(problem: str) -> int:
    found = re.search(r":(\d+): ", problem)
    return int(found[1]) if found else 0


def _problems(path: Path) -> Iterator[str]:
    """Yield what is wrong: with the front matter, with the SQL and the names in it, else with what it does over an empty lake."""
    import pyarrow as pa

    import counterbalance
    from counterbalance.engine.errors import NotFoundError, RequestError
    from counterbalance.engine.sql import queries, query_files, scope

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}", code="E1020") from None
    except UnicodeDecodeError:
        yield f"{path}:1: this is not UTF-8 text"
        return
    query, found = query_files.read(text, "audit", str(path))
    yield from (problem.message for problem in found)
    try:
        if path.stem.isidentifier():
            queries.refuse_name(path.stem, str(path))
    except RequestError as error:
        query = None  # which cannot be run
        yield f"{path}:1: {error.message}"
    try:
        sql, place = query_files.sql_of(text, str(path))
    except RequestError:  # which was told
        return
    try:
        tree = scope.tree_of(sql, place)
    except RequestError as error:
        yield error.message
        return
    lake = counterbalance.connect("memory://check")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    with lake.session() as session:
        unknown = list(_unknown(tree, sql, place, {*session.names(), *(query_files.names_of(text, str(path)))}))
        yield from unknown
        if query is None or unknown:
            return
        if not query.cells and not any(p.name == "min_count" for p in query.parameters):
            errors.note(f"{path} has no [[cells]]: no count of its rows is hidden")
        if any(p.default is None for p in query.parameters):
            return
        yield from _failures(session, path, text, sql, place)


def _failures(session: Session, path: Path, text: str, sql: str, place: str) -> Iterator[str]:
    """Yield what fails over an empty lake: of columns that are not there each, wherever it stands."""
    from tempfile import TemporaryDirectory

    from counterbalance.engine.errors import CounterbalanceError

    told: set[str] = set()
    with TemporaryDirectory() as folder:
        file = path
        while True:
            try:
                session.audit(str(file)).columns  # noqa: B018 - which are known when all was bound
            except CounterbalanceError as error:
                if match := _OF_CELLS.search(error.message):
                    yield from [*_of_cells(match, text, place)] or [f"{place}: {error.message}"]
                    return
                column = {*re.findall(r"^no column '([^']+)'", error.message)} - told
                tokens = _tokens(sql, column)
                yield from (f"{_at(place, token)}: {error.message}" for token in tokens)
                if not tokens:  # what fails with NULL in the place of a column is no finding
                    yield from () if told else (f"{place}: {error.message}",)
                    return
                told |= column
                front, _, rest = text.rpartition(sql)
                sql = _without(sql, tokens)
                text = front + sql + rest
                file = Path(folder) / f"{path.stem}_{len(told)}.sql"  # another audit than the one before
                file.write_text(text, encoding="utf-8")
            else:
                return


def _of_cells(match: re.Match[str], text: str, place: str) -> Iterator[str]:
    """Yield where ``[[cells]]`` name columns that the SQL does not give."""
    from counterbalance.engine.sql import query_files

    for column in re.findall(r"'([^']+)'", match[0]):
        places = query_files.places_in_cells(text, place.rpartition(":")[0], column)
        yield from (f"{at}: the SQL gives no column {column!r}" for at in places)


def _without(sql: str, tokens: Sequence[Token]) -> str:
    """Return SQL with NULL in the place of some words, so that others are found."""
    for token in reversed(tokens):
        sql = sql[: token.start] + "NULL" + sql[token.end + 1 :]
    return sql


def _tokens(sql: str, words: Collection[str]) -> list[Token]:
    """Return where some words stand in SQL, outside of texts."""
    import sqlglot

    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    return [token for token in tokens if token.text in words and token.token_type is not sqlglot.TokenType.STRING]


def _at(place: str, token: Token) -> str:
    """Return file and line of a word of SQL, which begins at a place."""
    file, _, first = place.rpartition(":")
    return f"{file}:{int(first) + token.line - 1}"


def _unknown(tree: exp.Query, sql: str, place: str, relations: Collection[str]) -> Iterator[str]:
    """Yield where the SQL of a file names tables and functions that nobody knows."""
    from sqlglot import exp

    from counterbalance.engine.errors import did_you_mean
    from counterbalance.engine.functions import built_in
    from counterbalance.engine.sql.call_syntax import callable_names

    known = {*built_in(), *callable_names(), *relations}
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = {t.name: f"{t.db}.{t.name}" if t.db else t.name for t in tree.find_all(exp.Table) if t.name}
    calls = {call.name for call in tree.find_all(exp.Anonymous)}
    wrong = {
        name: f"no table {whole!r}{did_you_mean(whole, relations)}"
        for name, whole in tables.items()
        if whole.lower() not in {*relations, *own}
    }
    wrong |= {name: f"no function {name!r}{did_you_mean(name, known)}" for name in calls if name.lower() not in known}
    yield from (f"{_at(place, token)}: {wrong[token.text]}" for token in _tokens(sql, wrong))
