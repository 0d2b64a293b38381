"""``counterbalance audit --new`` and ``--check``: files of audits of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROBLEMS: Final = 1
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
        RequestError: The file is there, or an audit of that name is installed.
    """
    from counterbalance.engine.errors import RequestError
    from counterbalance.engine.sql import queries

    stem = name.removesuffix(".sql")
    if not stem.isidentifier():
        raise click.UsageError(f"{name!r} is not a name for an audit: letters, digits and underscores")
    path = Path(f"{stem}.sql")
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
    problems = [problem for file in files for problem in _problems(Path(file))]
    for problem in problems:
        click.echo(problem)
    if not problems:
        errors.remark("no problem found")
    return _PROBLEMS if problems else 0


def _problems(path: Path) -> Iterator[str]:
    """Yield what is wrong: with the front matter, else with the SQL, else with what it does over an empty lake."""
    import pyarrow as pa

    import counterbalance
    from counterbalance.engine.errors import CounterbalanceError, NotFoundError
    from counterbalance.engine.sql import query_files, scope

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}", code="E1020") from None
    except UnicodeDecodeError:
        yield f"{path}:1: this is not UTF-8 text"
        return
    query, found = query_files.read(text, "audit", str(path))
    yield from (problem.message for problem in found)
    if query is None:
        return
    try:
        scope.parsed(query)
    except CounterbalanceError as error:
        yield error.message
        return
    if not query.cells and not any(p.name == "min_count" for p in query.parameters):
        errors.note(
            f"{path} has no [[cells]]: no count of its rows is hidden, and over perceived labels it needs a purpose"
        )
    if any(p.default is None for p in query.parameters):
        return
    lake = counterbalance.connect("memory://check")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    try:
        with lake.session() as session:
            session.audit(str(path)).columns  # noqa: B018 - which are known when all was bound
    except CounterbalanceError as error:
        yield f"{query.place}: {error.message}"
