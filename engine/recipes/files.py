"""Recipe files: front matter as audits have it, then steps of plain statements.

::

    /*--- toml
    answers = "Scores every caption, then counts what is negative."
    source = "paper, section"

    [params.rules]
    type = "varchar"
    default = "vader"
    choices = ["vader", "nltk"]

    [params.least]
    type = "integer"
    about = "a value that must be given; the recipe stops at the first step that needs it"
    ---*/

    -- step score: the score of every caption
    ALTER TABLE captions ADD COLUMN IF NOT EXISTS mood AS (vader(text, rules := $rules));
    REFRESH captions.mood;

    -- step counts: how many are negative
    SELECT count(*) AS n FROM captions WHERE mood < 0;

A step holds one statement or more. ``$name`` stands for a literal wherever one may stand; a parameter of type ``relation``
stands for a name. What declares something must say IF NOT EXISTS (or OR REPLACE), so that a recipe may be run again.
Recipes are found in the folder ``recipes`` of the packages that offer audits (entry points ``counterbalance.queries``).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.recipes import values
from counterbalance.engine.recipes.model import Recipe, Step
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import queries, query_files

if TYPE_CHECKING:
    from collections.abc import Iterator


FOLDER: Final = "recipes"


def parse(text: str, where: str) -> Recipe:
    r"""Read a recipe file.

    Args:
        text: Its content.
        where: Its name, for errors.

    Raises:
        RequestError: It is not as it must be.
        SqlError: A quote or comment is never closed.

    Example:
        >>> made = parse('/*--- toml\nanswers = "Counts."\n---*/\n-- step count: how many\nSELECT 1;', "one.sql")
        >>> made.steps
        (Step(name='count', doc='how many', statements=('SELECT 1',)),)
    """
    header = query_files.parse(text, "recipe", where)
    steps = tuple(_steps(header.sql, where))
    names = Counter(s.name for s in steps)
    twice = next((n for n, count in names.items() if count > 1), None)
    if twice is not None:
        raise RequestError(f"{where}: two steps are called {twice!r}", code="E3561")
    return Recipe(header.name, header.doc, header.text, header.source, header.parameters, steps)


def _steps(body: str, where: str) -> Iterator[Step]:
    marks = list(query_files.STEP.finditer(body))
    first = marks[0].start() if marks else len(body)
    if not marks or any(_pieces(body[:first])):
        raise RequestError(f"{where}: before a statement there is a line '-- step NAME: what it does'", code="E3561")
    for mark, end in zip(marks, [*(m.start() for m in marks[1:]), len(body)], strict=True):
        statements = tuple(_pieces(body[mark.end() : end]))
        if not statements:
            raise RequestError(f"{where}: step {mark[1]} has no statement", code="E3561")
        yield Step(mark[1], mark[2].strip(), statements)


def _pieces(text: str) -> Iterator[str]:
    """Return statements, cut at the semicolons outside of quotes and comments."""
    start, filled = 0, False
    for token in values.lex(text):
        if token.token_type.name != "SEMICOLON":
            filled = True
            continue
        if filled:
            yield text[start : token.start].strip()
        start, filled = token.end + 1, False
    if filled:
        yield text[start:].strip()


def made_by(name: str) -> str | None:
    """Tell which recipe makes a view of that name, or a column of a base table.

    Example:
        >>> made_by("caption_clusters_set"), made_by("text")
        ('counterbalance recipe LAKE caption_clusters makes it', None)
    """
    table, exists = "|".join(BASE_TABLES), r"(?:IF\s+NOT\s+EXISTS\s+)?"
    made = re.compile(rf"\b(?:VIEW|TABLE\s+(?:{table})\s+ADD\s+COLUMN)\s+{exists}{re.escape(name)}\b", re.IGNORECASE)
    found = (file.name for file in queries.shipped(FOLDER) if made.search(file.read_text(encoding="utf-8")))
    file = next(found, None)
    return None if file is None else f"counterbalance recipe LAKE {file.removesuffix('.sql')} makes it"


def recipes() -> dict[str, Recipe]:
    """Return all recipes of the installed packages by name."""
    found: dict[str, Recipe] = {}
    for file in queries.shipped(FOLDER):
        recipe = parse(file.read_text(encoding="utf-8"), file.name)
        if recipe.name in found:
            raise RequestError(f"two recipes are called {recipe.name!r}", code="E3031")
        found[recipe.name] = recipe
    return found


def recipe(name: str) -> Recipe:
    """Return the recipe of that name, or in the file of that path (``*.sql``).

    Raises:
        NotFoundError: There is none.
        RequestError: The file is not as it must be.
    """
    if name.endswith(".sql"):
        try:
            return parse(Path(name).expanduser().read_text(encoding="utf-8"), Path(name).name)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise NotFoundError(f"cannot read the recipe {name}: {reason}", code="E1160") from error
    known = recipes()
    if name not in known:
        raise NotFoundError(
            f"no recipe {name!r}{did_you_mean(name, known)}",
            code="E1160",
            hint=f"recipes: {', '.join(known) or 'none'}; or the path of a file that ends with .sql",
        )
    return known[name]
