"""Write what the engine says of itself as Markdown: text that stays text, tables, names that lead to their pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MARKS: Final = re.compile(r"[\\*_\[\]<>#|$~]")
_PAGE: Final = re.compile(r"\bdocs/([a-z][a-z-]*\.md)\b")
_SPAN: Final = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_WORD: Final = re.compile(r"`([a-z]\w*)`")
_FENCE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def plain(text: str) -> str:
    r"""Return text that Markdown shows as it is; what stands between backticks stays code, and a page of ``docs/`` is led to.

    Example:
        >>> print(plain("a * b, `a_b` and a_b (docs/safety.md)"))
        a \* b, `a_b` and a\_b ([docs/safety.md](/safety.md))
    """
    found, at = [], 0
    for span in _SPAN.finditer(text):
        found += [_escaped(text[at : span.start()]), f"`{span[2].strip('`')}`"]
        at = span.end()
    return "".join([*found, _escaped(text[at:])])


def _escaped(text: str) -> str:
    return _PAGE.sub(r"[\g<0>](/\1)", _MARKS.sub(r"\\\g<0>", text))


def code(text: str) -> str:
    r"""Return a span of code in one line, that a cell of a table can hold.

    Example:
        >>> print(code("a | b"))
        `a \| b`
    """
    line = " ".join(text.split())
    ticks = "``" if "`" in line else "`"
    return f"{ticks}{line}{ticks}".replace("|", "\\|") if line else ""


def cell(text: str) -> str:
    """Return text for a cell of a table: one line."""
    return plain(" ".join(text.split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown; nothing without rows.

    Example:
        >>> print(table(["a", "b"], [["1", "2"]]))
        | a | b |
        |---|---|
        | 1 | 2 |
    """
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines]) if lines else ""


def paragraphs(text: str) -> str:
    """Return paragraphs; those with lines that begin with a blank or a dash keep their lines, as a terminal shows them."""
    return "\n\n".join(
        fence("text", part) if re.search(r"^(\s|- )", part, re.MULTILINE) else plain(part)
        for part in re.split(r"\n[ \t]*\n", text.strip())
        if part
    )


def fence(kind: str, text: str) -> str:
    """Return a block of code."""
    return f"````{kind}\n{text.strip()}\n````"


def folded(title: str, body: str) -> str:
    """Return a part that is shown when its title is clicked."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def docstring(text: str) -> str:
    """Return a docstring in Google's style, whose text is reStructuredText, as Markdown that Sphinx reads."""
    from sphinx.ext.napoleon import Config, GoogleDocstring

    told = GoogleDocstring(
        text, Config(napoleon_use_param=False, napoleon_custom_sections=[("Call with", "params_style"), "Returns"])
    )
    capital = re.sub(
        r"^:(returns|raises)", lambda found: f":{found[1].capitalize()}", str(told).strip(), flags=re.MULTILINE
    )
    return f"`````{{eval-rst}}\n{capital}\n`````"


def page(title: str, *parts: str, contents: Sequence[str] | None = None) -> str:
    """Return a page: its title, the parts that are not empty, and links to pages below it."""
    tree = "" if contents is None else "\n".join(["```{toctree}", ":maxdepth: 1", "", *contents, "```"])
    return "\n\n".join(part for part in (f"# {title}", *parts, tree) if part) + "\n"


def linked(text: str, pages: Mapping[str, str], here: str) -> str:
    """Return a page's text with names of audits, views, recipes and functions as links to their pages.

    Only names between backticks that hold an underscore, or stand first in a row of a table, are: others may be a column's.

    Args:
        text: Markdown.
        pages: By name: the page from the root of the site.
        here: The page that the text is of, from there too.
    """

    def link(found: re.Match[str]) -> str:
        to = pages.get(found[1])
        first = text.rfind("\n", 0, found.start()) == found.start() - 3 and text[found.start() - 2] == "|"
        if to is None or to == here or not (first or "_" in found[1]) or text[found.start() - 1] == "[":
            return found[0]
        return f"[{found[0]}](/{to})"

    fences = [(f.start(), f.end()) for f in _FENCE.finditer(text)]
    return _WORD.sub(lambda m: m[0] if any(a <= m.start() < b for a, b in fences) else link(m), text)
