"""Pages name no link, file, code, command, option, parameter, audit, list, method, variable or extra that is gone."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import pytest
from command_line import commands, options

import counterbalance as cb
from counterbalance.__main__ import COMMANDS, cli
from counterbalance.engine import lists
from counterbalance.engine.catalog import system
from counterbalance.engine.recipes.files import recipes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "tutorials").glob("*.md"))]
"""Pages that tell what there is now."""
LINKED = [
    *PAGES,
    *sorted(ROOT.glob("*.md")),
    *sorted((DOCS / "decisions").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
"""Pages that lead to others, and may tell of what was."""
SOURCES = ("counterbalance", "engine", "ingest", "udfs", "queries", "examples", "tests", "bench", "tools")
OF_OTHERS = {"MAILTO", "yarn"}
FILE = re.compile(
    r"\b(?:tests|bench|tools|docs|examples|engine|udfs|queries|ingest|counterbalance)/[\w./-]+\.(?:py|sql|md|toml|ya?ml|json|csv)\b"
)
OF_SCRIPTS = re.compile(r"add_argument\(\s*[\"'](--[a-z-]+)")
OTHER_PROGRAMS = re.compile(r"pip|docker|python|pytest|git|debootstrap|apt|systemctl|hf|ray")


@cache
def words():
    """Every word of the code, and of the names of its files."""
    found = set(re.findall(r"\w+", (ROOT / "pyproject.toml").read_text() + (ROOT / "Makefile").read_text()))
    for path in chain.from_iterable((ROOT / folder).rglob("*") for folder in SOURCES):
        if path.suffix in {".py", ".sql", ".j2", ".yaml", ".json", ".csv", ".js"} and path != Path(__file__):
            found |= {path.stem, *re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    return found


@cache
def known():
    """What pages may name, by kind."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    scripts = chain.from_iterable((ROOT / folder).glob("*.py") for folder in ("bench", "tools"))
    ours = chain.from_iterable(map(options, [cli, *commands().values()]))
    return {
        "code": set(re.findall(r"^\| (E\d{4}) ", (DOCS / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)),
        "list": set(lists.names()),
        "meta": set(system.DOCS),
        "make": set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)),
        "extra": set(project["optional-dependencies"]),
        "method": {*dir(cb.Lake), *dir(cb)},
        "option": {*ours, *chain.from_iterable(OF_SCRIPTS.findall(script.read_text()) for script in scripts)},
    }


def prose(text):
    """The words between backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def called(text):
    """Yield the words of every line that calls a command: in blocks, and between backticks."""
    lines = re.findall(r"^\$ (?:cbal|counterbalance) (.+)$", text, re.MULTILINE)
    lines += re.findall(r"`(?:cbal|counterbalance) ([^`\n]+)`", text)
    for line in lines:
        yield re.sub(r"'[^']*'|\"[^\"]*\"?", "TEXT", re.split(r"\s(?:[;|&]|\d?>)", line)[0]).split()


def gone_of_calls(text):
    """Commands, options, audits, recipes, their parameters and formats that are called and not there."""
    ours = commands()
    for given in called(text):
        name = next((w for w in given if not w.startswith("-")), None)
        if name is None or not name.isalpha() or name.isupper():
            continue
        if name not in COMMANDS:
            yield name
            continue
        command = ours.get(" ".join(given[:2])) or ours[name]
        yield from {w.split("=")[0].rstrip(".,") for w in given if w.startswith("--") and len(w) > 2} - options(command)
        positional = [w for w in given[1:] if not w.startswith("-")]
        if name in {"audit", "recipe"} and len(positional) > 1 and positional[0].endswith((".lake", "LAKE")):
            names = cb.audits() if name == "audit" else recipes()
            asked = positional[1].rstrip("`,.")
            if asked in names:
                parameters = {p.name for p in names[asked].parameters} | {"preset"}
                set_ = {w.partition("=")[0] for w in positional[2:] if re.match(r"[a-z_]+=", w)}
                yield from set_ - parameters if name == "audit" else ()
            elif not asked.isupper() and not asked.endswith((".sql", "…")):
                yield asked
        yield from {v for o, v in pairwise(given) if (name, o) == ("ingest", "--format") and not v.isupper()} - {
            *cb.formats()
        }


def gone(text):
    """What a page names that is not there."""
    found = {code for code in re.findall(r"\bE\d{4}\b", text) if code not in known()["code"]}
    found |= {*gone_of_calls(text)}
    for span in prose(text):
        named = {
            "list": re.findall(r"\blists\.(\w+)", span),
            "meta": re.findall(r"\bmeta\.(\w+)", span),
            "make": re.findall(r"^make ([a-z]+)", span),
            "extra": [name for names in re.findall(r"counterbalance\[([\w,]+)\]", span) for name in names.split(",")],
            "method": re.findall(r"\b(?:lake|cb)\.(\w+)\(", span),
            "option": [] if OTHER_PROGRAMS.match(span) else re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", span),
        }
        found |= {name for kind, names in named.items() for name in names if name not in known()[kind]}
        found |= {file for file in FILE.findall(span) if not (ROOT / file).exists() and "/name." not in file.lower()}
        word = re.match(r"([A-Za-z_]\w*)(?:\(.*)?$", span)
        found |= {word[1]} - words() if word else set()
    found |= {name for name in re.findall(r"\bCOUNTERBALANCE_[A-Z]\w+", text) if name not in words()}
    return found - OF_OTHERS


@cache
def anchors(page):
    """The anchors of a page's headings, as Markdown's readers make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub("[`*]", "", title.strip().lower())) for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def broken(page, text):
    """Links of a page that lead nowhere."""
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_nothing_that_is_gone(page):
    assert gone(page.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [*broken(page, page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "E9998", "`lematize(text)`", "| who | `geographyy` |", "`lists.crimez`", "`--no-such-option`", "`lake.nothingy()`",
        "`tests/docs/test_gone.py`", "`make nothingy`", "`counterbalance[nothingy]`", "COUNTERBALANCE_NOTHINGY", "`meta.nothings`",
        "`cbal audit my.lake demographics gruops=x`", "`cbal audit my.lake demografics`", "`cbal nothingy my.lake`",
        "`cbal ingest my.lake x --format cocoo`", "$ cbal refresh my.lake --duo",
    ],
)  # fmt: skip
def test_what_is_gone_is_found(text):
    assert len(gone(f"before\n{text}\nafter")) == 1


@pytest.mark.parametrize("link", ["[a](docs/tour.md#no-such-part)", "[a](docs/gone.md)", "[a](#no-such-part)"])
def test_a_link_that_leads_nowhere_is_found(link):
    assert len([*broken(ROOT / "README.md", link)]) == 1
