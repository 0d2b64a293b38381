"""Build the documentation: ``build/docs/index.html`` to read in a browser, and ``build/man/cbal.1``; without a network.

``docs/*.md`` and the decisions are taken as they are, the reference is made from the code (``docs_pages.py``). A warning is an
error: a page that nothing leads to, a link that leads nowhere, a docstring that is not well formed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import docs_audits
import docs_pages
from docs_words import linked, page, plain
from pygments.lexers.sql import SqlLexer
from pygments.token import Name, Punctuation
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

import counterbalance as cb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
OUT: Final = ROOT / "build"
SECTIONS: Final = {
    "Tutorials": (
        "tour",
        "tutorials/captions-csv",
        "tutorials/coco",
        "tutorials/hugging-face",
        "tutorials/images-to-labels",
        "tutorials/contrast-set",
        "tutorials/model-bias",
        "tutorials/schedule",
        "tutorials/ci",
        "tutorials/s3",
        "tutorials/many-machines",
        "tutorials/papers",
        "tutorials/reproductions",
    ),
    "Guides": ("ui", "gallery", "contrast-sets", "association", "models", "elsewhere", "spark"),
    "How it works": (
        "lake",
        "journeys",
        "statistics",
        "safety",
        "promises",
        "first-audit",
        "reproduction",
        "coverage",
        "random-halves",
        "gender-words",
        "performance",
        "growth",
    ),
    "Reference": (
        "audits",
        "reference/audits/index",
        "reference/views/index",
        "reference/functions/index",
        "reference/recipes/index",
        "reference/commands",
        "reference/statements",
        "reference/tables",
        "reference/formats",
        "reference/exports",
        "reference/actions",
        "reference/lists",
        "reference/python",
        "reference/http",
        "errors",
    ),
}
"""Parts of the site and their pages, in order; a page of ``docs/`` that none names stands in the second part."""
_STYLE: Final = """\
table.docutils td:last-child { min-width: 10rem; }
.chart {
  --ink: var(--color-foreground-primary); --ink-soft: var(--color-foreground-secondary);
  --paper: var(--color-background-primary); --grid: var(--color-background-border);
  display: block; width: 100%; max-width: 780px; height: auto; font-variant-numeric: tabular-nums;
}
.chart .value { font-weight: 600; }
.chart .tick, .chart .note { font-size: 11px; }
"""
"""What a parameter is about keeps its room beside a long default: on a phone a table is scrolled sideways. Charts as in reports."""
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|/)([^)#]+)(#[^)]*)?\)")
_CHARTS: Final = "<!-- a chart of each kind -->"
_DIAGRAM: Final = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NODE: Final = r"(\w+)(?:[\[({]+\"?(.*?)\"?[\])}]+)?"
_EDGE: Final = re.compile(rf"^\s*{_NODE}\s*--+\s*(?:\"(.*?)\"\s*--+)?>\s*{_NODE}\s*$")
_SETTINGS: Final[dict[str, Any]] = {
    "project": "counterbalance",
    "html_title": "counterbalance",
    "version": cb.__version__,
    "release": cb.__version__,
    "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"],
    "html_theme": "furo",
    "html_copy_source": False,
    "html_static_path": ["style"],
    "html_css_files": ["pages.css"],
    "html_show_copyright": False,
    "smartquotes": False,
    "myst_heading_anchors": 3,
    "autodoc_typehints": "none",
    "napoleon_custom_sections": [("Call with", "params_style"), "Returns"],
    "autodoc_class_signature": "separated",
    "templates_path": [],
    "man_pages": [("reference/commands", "cbal", "audit and rebalance image-text datasets with SQL", "", 1)],
    "man_show_urls": False,
}


class _Sql(SqlLexer):
    """SQL with ``$parameters``, structs and lambdas."""

    tokens: ClassVar[dict[str, Any]] = {
        **SqlLexer.tokens,
        "root": [(r"\$\w+", Name.Variable), *SqlLexer.tokens["root"], (r"\S", Punctuation)],
    }


def main() -> None:
    """Build both, and say where they are."""
    with tempfile.TemporaryDirectory() as folder:
        pages = stage(Path(folder))
        for builder, into in (("html", OUT / "docs"), ("man", OUT / "man")):
            shutil.rmtree(into, ignore_errors=True)
            with patch_docutils(), docutils_namespace():
                app = Sphinx(
                    folder, None, into, f"{folder}/.doctrees", builder, _SETTINGS, status=None, warningiserror=True
                )
                app.add_lexer("sql", _Sql)
                app.build()
            if app.statuscode:
                sys.exit("the pages are not in order: see the warnings above")
    print(
        f"{pages} pages: {(OUT / 'docs' / 'index.html').relative_to(ROOT)} and {(OUT / 'man' / 'cbal.1').relative_to(ROOT)}"
    )


def stage(folder: Path) -> int:
    """Write all pages of the site to a folder, as Sphinx reads them; returns how many there are.

    Args:
        folder: An empty one.
    """
    with _tour() as (lake, asked), lake.session() as session, asked.session() as other:
        pages = docs_pages.pages(session, other)
        kinds = docs_audits.kinds_of_charts(session)
    homes = docs_pages.homes()
    for file in sorted((ROOT / "docs").rglob("*.md")):
        name = file.relative_to(ROOT / "docs").as_posix()
        text = docs_pages.error_page() if name == "errors.md" else file.read_text(encoding="utf-8")
        pages[name] = linked(_written(text.replace(_CHARTS, kinds), name), homes, name)
    own = [name.removesuffix(".md") for name in pages if "/" not in name]
    placed = {name for names in SECTIONS.values() for name in names}
    sections = {title: list(names) for title, names in SECTIONS.items()}
    sections["How it works"] += sorted(set(own) - placed)
    decisions = sorted(name.removesuffix(".md") for name in pages if name.startswith("decisions/"))
    pages["decisions/index.md"] = page(
        "Decisions", "Those that were not obvious.", contents=[f"/{d}" for d in decisions]
    )
    pages["index.md"] = _front(sections | {"Decisions": ["decisions/index"]})
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", folder / "images")
    (folder / "style").mkdir()
    (folder / "style" / "pages.css").write_text(_STYLE, encoding="utf-8")
    return len(pages)


def _front(sections: dict[str, list[str]]) -> str:
    """Return the first page: what README begins with, and the contents."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    title, _, rest = readme.partition("\n\n")
    first = rest.partition("\n## ")[0].replace("](docs/", "](")
    trees = [
        "\n".join(["```{toctree}", f":caption: {name}", ":maxdepth: 1", "", *names, "```"])
        for name, names in sections.items()
    ]
    return "\n\n".join([title, first, *trees]) + "\n"


def _written(text: str, name: str) -> str:
    """Return a page of ``docs/`` for the site: links out of it as names of files, diagrams as lists."""

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(Path("docs", name).parent / found[2]))
        if target.parts[0] != "docs":
            return f"{found[1]} (`{target.as_posix()}`)"
        inside = target.relative_to("docs")
        if (ROOT / target).is_dir():
            inside /= "index.md"
        return f"[{found[1]}](/{inside.as_posix()}{found[3] or ''})"

    return _DIAGRAM.sub(lambda found: _diagram(found[1]), _LINK.sub(link, text))


def _diagram(text: str) -> str:
    """Return a flowchart of Mermaid as a list: a browser draws one only with a library of several megabytes."""
    labels: dict[str, str] = {}
    steps = []
    for line in text.splitlines()[1:]:
        if edge := _EDGE.match(line):
            labels |= {n: label for n, label in ((edge[1], edge[2]), (edge[4], edge[5])) if label}
            steps.append((edge[1], edge[3], edge[4]))
    names = {n: ": ".join(plain(part) for part in label.split("<br>")) for n, label in labels.items()}
    return "\n".join(
        f"- {names.get(a, a)} → {names.get(b, b)}" + (f" ({plain(said)})" if said else "") for a, said, b in steps
    )


@contextlib.contextmanager
def _tour() -> Iterator[tuple[cb.Lake, cb.Lake]]:
    """Make the lake of the tour by its own first commands, and the copy that some examples ask."""
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    block = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    commands = [shlex.split(line[2:]) for line in block.splitlines() if line.startswith("$ ")]
    program = str(Path(sys.executable).with_name(docs_pages.PROGRAM))
    with tempfile.TemporaryDirectory() as folder:
        for _, *words in commands:
            subprocess.run([program, "-q", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        yield cb.connect(f"{folder}/sample.lake"), cb.connect(docs_audits.prepare(Path(folder)))


if __name__ == "__main__":
    main()
