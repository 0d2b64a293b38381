"""Make the pages of the reference from what the code knows: nothing of them is written by hand, or kept in the repository."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import docs_audits
import yaml
from docs_words import cell, code, docstring, fence, page, plain, table

import counterbalance as cb
from counterbalance.__main__ import COMMANDS, cli
from counterbalance.engine import errors, functions, lists
from counterbalance.engine.catalog import system
from counterbalance.engine.plugins import entry_points
from counterbalance.engine.recipes import files as recipe_files
from counterbalance.engine.schema import BASE_TABLES, SENSITIVE_ATTRIBUTES
from counterbalance.engine.search import DOCS, SIGNATURES
from counterbalance.engine.search.index_kinds import KINDS
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.statements import (
    COLUMN_OPTIONS,
    FORMS,
    OPTION_DOCS,
    REFRESH_OPTIONS,
    TYPE_NAMES,
    VIEW_OPTIONS,
)
from counterbalance.shell import describe
from counterbalance.shell.output import FORMATS, SUFFIXES
from counterbalance.shell.progress import MODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

    from counterbalance.engine.session import Session

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = "cbal"
_ERROR: Final = re.compile(r"^\| (E\d{4}) \| (.+) \| (.+) \|$")
VARIABLES: Final = {
    "COUNTERBALANCE_ALLOW_DOWNLOAD": "1 lets models fetch weights that are not in the cache (--allow-download)",
    "COUNTERBALANCE_DEBUG": "1 shows tracebacks of errors (--debug)",
    "COUNTERBALANCE_LLM_KEY": "key of the endpoint that multimodal models are asked at; sent in one header, stored nowhere",
    "COUNTERBALANCE_MEMORY": "memory for a query, such as 2GB (--memory)",
    "COUNTERBALANCE_PICTURES": "folders and addresses, with : between them, from which pictures that are not stored may be read",
    "COUNTERBALANCE_PROGRESS": "progress on stderr: " + ", ".join(MODES) + " (--progress)",
    "COUNTERBALANCE_TIMEOUT": "seconds after which a query is stopped; 0 for no limit (--timeout)",
    "NO_COLOR": "no colours",
    "PAGER": "what shows long results in a terminal; less without it",
    "RAY_ADDRESS": "the Ray cluster that computes (executor ray)",
    "SPARK_MASTER": "master of the Spark cluster that queries run on (--engine spark)",
    "SPARK_REMOTE": "the same by Spark Connect",
}
"""Variables of the environment that are read, beside those of object stores, proxies and model hubs."""
_LISTED: Final = ("audits", "views", "functions", "recipes")
"""Folders whose pages stand in a list of their own, and not one by one beside every page of the site, which is slow to build."""
_OPTIONAL: Final = re.compile(r"\[.*?\]")
_CAPITALS: Final = re.compile(r"\b(?!AS\b|ON\b|WITH\b|SELECT\b)[A-Z]{2,}\b")
_SQL_FUNCTIONS: Final = "reference/functions/in-sql.md"
_TABLE_FUNCTIONS: Final = "reference/functions/in-from.md"


def homes() -> dict[str, str]:
    """Return the page of each audit, view, recipe and function, by name, from the root of the site."""
    found = {f.name: f"reference/functions/{_module(f.name)}.md" for f in functions.function_list() if _is_ours(f.name)}
    found |= dict.fromkeys(queries.sql_functions(), _SQL_FUNCTIONS) | dict.fromkeys(DOCS, _TABLE_FUNCTIONS)
    found |= {name: f"reference/recipes/{name}.md" for name in recipe_files.recipes()}
    found |= {q.name: f"reference/{q.kind}s/{q.name}.md" for q in queries.sound()}
    return found


def pages(session: Session | None = None, asked: Session | None = None) -> dict[str, str]:
    """Return the pages of the reference: Markdown by path from the root of the site.

    Args:
        session: Over the lake of the tour, from which audits have their examples; none without it.
        asked: Over the copy of it that ``docs_audits.BEFORE`` makes, for the examples that need more.
    """
    links = homes()
    made: dict[str, str] = {}
    for query in queries.sound():
        over = asked if query.name in docs_audits.BEFORE else session
        own = docs_audits.audit(query, over, links) if query.kind == "audit" else docs_audits.view(query, links)
        made[links[query.name]] = own
    made |= {f"reference/recipes/{name}.md": docs_audits.recipe(name) for name in recipe_files.recipes()}
    made[_SQL_FUNCTIONS] = docs_audits.sql_functions(queries.sql_functions())
    made[_TABLE_FUNCTIONS] = _table_functions()
    made |= _functions() | _commands() | _errors()
    made["reference/statements.md"] = _statements()
    made["reference/formats.md"] = _formats()
    made["reference/exports.md"] = _exports()
    made["reference/actions.md"] = _actions()
    made["reference/tables.md"] = _tables()
    made["reference/lists.md"] = _lists()
    made["reference/http.md"] = _http()
    made["reference/python.md"] = _python()
    return made | _indexes(made, links)


def _indexes(made: Mapping[str, str], links: Mapping[str, str]) -> dict[str, str]:
    """Return a list for each folder of pages, audits by subject, and those pages as they stand beside it."""
    found = {}
    parts = []
    for subject, of in describe.by_subject(cb.audits()).items():
        parts += [f"## {_capital(subject)}", _rows({q.name: q.doc for q in of})]
    found["reference/audits/index.md"] = page("Audits", *parts)
    views = {q.name: q.doc for q in queries.sound() if q.kind == "view"}
    found["reference/views/index.md"] = page("Views", _rows(views))
    recipes = {r.name: r.doc for r in recipe_files.recipes().values()}
    found["reference/recipes/index.md"] = page("Recipes", _rows(recipes))
    listed = {row["name"]: row for row in system.callables()}
    rows = [(f"[`{n}`](/{links[n]})", cell(listed[n]["doc"] or "")) for n in sorted(listed.keys() & links.keys())]
    found["reference/functions/index.md"] = page("Functions", table(("function", "what it is"), rows))
    alone = {path: f"---\norphan: true\n---\n\n{text}" for path, text in made.items() if path.split("/")[1] in _LISTED}
    return found | alone


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _trees(names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])


def _rows(docs: Mapping[str, str]) -> str:
    return table(("name", "what it answers"), [(f"[`{n}`]({n}.md)", cell(doc)) for n, doc in sorted(docs.items())])


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(functions.GROUP)}


def _is_ours(name: str) -> bool:
    return name in _installed() and _installed()[name].value.startswith("counterbalance.")


def _module(name: str) -> str:
    """Return what a function's page is called: its module's name, in ``udfs`` and ``udfs/models``."""
    return _installed()[name].value.removeprefix("counterbalance.udfs.").replace(".", "-")


def _functions() -> dict[str, str]:
    """Return a page a module of functions: what the module says, then each function."""
    listed = {f.name: f for f in functions.function_list() if _is_ours(f.name)}
    by_page: dict[str, list[str]] = defaultdict(list)
    for name in listed:
        by_page[_module(name)].append(name)
    made = {}
    for module, names in by_page.items():
        loaded = importlib.import_module(_installed()[names[0]].value)
        parts = [docstring(inspect.getdoc(loaded) or "")]
        for name in names:
            said, call = listed[name], functions.function(name).call
            needs = [f"runs on {said.device}" if said.device == "cpu" else "uses an accelerator when there is one"]
            needs += [f"needs {said.memory} of memory"] if said.memory else []
            parts += [
                f"## {name}",
                fence("sql", f"{said.signature} -> {said.returns}"),
                docstring(inspect.getdoc(call) or said.doc),
                f"Version {said.version}; {', '.join(needs)}.",
            ]
        title = module.removeprefix("models-").replace("_", " ")
        made[f"reference/functions/{module}.md"] = page(
            _capital(title) + (" (a model)" if "models-" in module else ""), *parts
        )
    return made


def _table_functions() -> str:
    parts = []
    for row in system.callables():
        if row["kind"] == "table function":
            name = str(row["name"])
            parts += [f"## {name}", f"**{plain(DOCS[name])}**", fence("sql", f"FROM {row['signature']}")]
            parts += [docs_audits.parameters(SIGNATURES[name])]
    module = importlib.import_module("counterbalance.engine.search")
    return page("Functions in FROM", docstring(inspect.getdoc(module) or ""), *parts)


def _statements() -> str:
    """Return the page of the engine's own statements: their forms, options and kinds of index."""
    given = {"add": COLUMN_OPTIONS, "view": VIEW_OPTIONS, "refresh": REFRESH_OPTIONS}
    parts = []
    for name, form in FORMS.items():
        rows = [(code(o), TYPE_NAMES[kind], cell(OPTION_DOCS[o])) for o, kind in given.get(name, {}).items()]
        parts += [f"## {' '.join(_CAPITALS.findall(_OPTIONAL.sub('', form)))}", fence("sql", form)]
        parts += [table(("option", "value", "what it is"), rows)]
        parts += _index_kinds() if name == "index" else []
    intro = (
        "What declares, drops and refreshes columns, views and indexes, in `cbal sql`, the shell and `lake.sql()`; all else is "
        "DuckDB's SQL, which only reads. `CALL` runs an [action](/reference/actions.md). What a column or view is made of: "
        "[lake](/lake.md). Vectors may be stored as `FLOAT16[n]`."
    )
    return page("Statements", intro, *parts)


def _index_kinds() -> Iterator[str]:
    for kind in KINDS.values():
        rows = [
            (
                code(o.name),
                cell(str(o.default if o.default is not None else "")),
                ", ".join(map(str, o.choices)),
                cell(o.doc),
            )
            for o in kind.options
        ]
        yield f"**USING {kind.name}**: {cell(kind.doc)}. Takes {cell(kind.columns)}."
        yield table(("option", "default", "choices", "what it is"), rows)


def _commands() -> dict[str, str]:
    """Return a page a command, of what its ``--help`` says."""
    made = {}
    context = click.Context(cli, info_name=PROGRAM)
    for name, command in _inside(cli, context):
        made[f"reference/commands/{name}.md"] = _command(command, click.Context(command, context, name))
    lines = [
        f"- [`{PROGRAM} {name}`](/reference/commands/{name}.md): {cell(line)}" for name, (_, line) in COMMANDS.items()
    ]
    codes = (inspect.getdoc(importlib.import_module("counterbalance.__main__")) or "").partition("Exit codes:")[2]
    made["reference/commands.md"] = page(
        "Commands",
        f"`{PROGRAM} COMMAND …`, also installed as `counterbalance`. {plain(cli.help or '')}",
        "\n".join(lines),
        _options(cli, context),
        f"Exit codes: {plain(' '.join(codes.split()))}",
        "## Variables",
        "What the environment says; an option says it louder.",
        table(("variable", "what it is"), [(code(name), cell(told)) for name, told in sorted(VARIABLES.items())]),
        contents=[f"commands/{name}" for name in COMMANDS],
    )
    return made


def _inside(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group, in its order."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield name, command


def _command(command: click.Command, context: click.Context) -> str:
    examples = [line.replace("counterbalance ", f"{PROGRAM} ", 1) for line in getattr(command, "examples", ())]
    below = []
    if isinstance(command, click.Group):
        for name, inner in _inside(command, context):
            page_of = _command(inner, click.Context(inner, context, name))
            below.append(re.sub("^#", "##", page_of, flags=re.MULTILINE))
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    return page(
        f"{context.command_path}",
        fence("text", usage),
        *map(plain, (inspect.cleandoc(command.help or "")).split("\n\n")),
        "**Options**",
        _options(command, context),
        "**Examples**" if examples else "",
        fence("console", "\n".join(f"$ {line}" for line in examples)) if examples else "",
        *below,
    )


def _options(command: click.Command, context: click.Context) -> str:
    records = [p.get_help_record(context) for p in command.get_params(context)]
    return "\n".join(f"- `{r[0]}`: {cell(r[1])}".removesuffix(": ") for r in records if r)


def error_codes() -> dict[str, tuple[str, str, str]]:
    """Return what ``docs/errors.md`` says of each code: section, meaning and remedy."""
    found, section = {}, ""
    for line in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines():
        section = line[3:] if line.startswith("## ") else section
        if row := _ERROR.match(line):
            found[row[1]] = (section, row[2], row[3])
    return found


def error_page() -> str:
    """Return ``docs/errors.md`` up to its first section: what is below stands on a page a family."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    families = sorted({error[:2].lower() for error in error_codes()})
    return text.partition("\n## ")[0] + "\n" + _trees([f"reference/errors/{family}" for family in families]) + "\n"


def _errors() -> dict[str, str]:
    """Return a page a family of errors: what each code means, and what to do."""
    classes = [c for c in vars(errors).values() if isinstance(c, type) and hasattr(c, "family")]
    codes = error_codes()
    made = {}
    for family in sorted({error[:2] for error in codes}):
        of = sorted((c for c in classes if c.family.startswith(family)), key=lambda c: c.family)
        rows = [(f"`{c.family}…`", f"`{c.__name__}`", cell((c.__doc__ or "").splitlines()[0])) for c in of]
        parts, last = [table(("codes", "class in Python", "what it is"), rows)], ""
        for error, (section, meaning, remedy) in codes.items():
            if error.startswith(family):
                parts += [f"## {section}"] if section != last else []
                parts += [f"({error.lower()})=\n**{error}**: {meaning}\\\n{remedy}"]
                last = section
        made[f"reference/errors/{family.lower()}.md"] = page(f"Errors {family}…", *parts)
    return made


def _modules(group: str, title: str, intro: str, *, of_function: bool = False) -> str:
    """Return a page of what modules or functions behind entry points say, a section each."""
    parts = []
    for entry in sorted(entry_points(group), key=lambda e: e.name):
        told = entry.load() if of_function else importlib.import_module(entry.module)
        parts += [f"## {entry.name}", docstring(inspect.getdoc(told) or "")]
    return page(title, intro, *parts)


def _formats() -> str:
    intro = "What `cbal ingest LAKE SOURCE --format NAME` reads; without `--format` the content tells. See [what it reads](/audits.md)."
    return _modules("counterbalance.formats", "Formats that are read", intro)


def _exports() -> str:
    by_format: dict[str, list[str]] = defaultdict(list)
    for suffix, kind in SUFFIXES.items():
        by_format[kind].append(suffix)
    rows = [(code(f), ", ".join(map(code, by_format[f]))) for f in FORMATS]
    intro = (
        "What `cbal export LAKE QUERY DIR --to NAME` writes.\n\nRows of a query, an audit or a list are written by `--format`, "
        "or `-o FILE`, whose suffix tells:\n\n" + table(("`--format`", "suffixes"), rows)
    )
    return _modules("counterbalance.exports", "Formats that are written", intro)


def _actions() -> str:
    return _modules(
        "counterbalance.actions", "Actions", "What `CALL name(…)` runs in SQL and in recipes.", of_function=True
    )


def _tables() -> str:
    closed = ", ".join(map(code, sorted(SENSITIVE_ATTRIBUTES)))
    parts = [
        "The base tables, into which sources are read. "
        + plain("Labels of these attributes are closed without a purpose: ")
        + closed
        + "."
    ]
    for name, found in BASE_TABLES.items():
        rows = [(code(c.name), "bytes" if c.type is None else cell(str(c.type)), cell(c.doc)) for c in found.columns]
        parts += [f"## {name}", _capital(plain(found.doc)) + ".", table(("column", "type", "what it is"), rows)]
    rows = [(f"`meta.{name}`", cell(doc)) for name, doc in system.DOCS.items()]
    return page(
        "Tables",
        *parts,
        "## meta",
        "What a lake holds, and what happened to it.",
        table(("relation", "what it is"), rows),
    )


def _lists() -> str:
    rows = []
    for name in lists.names():
        words = lists.wordlist(name)
        rows.append((f"`lists.{name}`", f"{words.num_rows:,}", ", ".join(map(code, words.column_names))))
    intro = "Relations `lists.NAME`; a file of your own (one word a line, CSV, TSV, JSONL or Parquet) may stand in place of one."
    return page("Word lists", intro, table(("list", "terms", "columns"), rows))


def http() -> dict[str, Any]:
    """Return the description of the API beneath ``cbal ui``."""
    found: dict[str, Any] = yaml.safe_load(
        (ROOT / "counterbalance" / "ui" / "openapi.yaml").read_text(encoding="utf-8")
    )
    return found


def _http() -> str:
    said = http()
    shared = said["components"].get("parameters", {})

    def named(parameter: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = shared[parameter["$ref"].rpartition("/")[2]] if "$ref" in parameter else parameter
        return found

    parts = []
    for path, item in said["paths"].items():
        for method in (m for m in item if m in {"get", "post", "put", "patch", "delete"}):
            of = item[method]
            given = [named(p) for p in (*item.get("parameters", ()), *of.get("parameters", ()))]
            rows = [(code(p["name"]), p["in"], cell(str(p.get("description", "")))) for p in given]
            body = of.get("requestBody", {}).get("content", {})
            fields = [
                (code(name), "body", cell(str(value.get("description", ""))))
                for kind in body.values()
                for name, value in kind.get("schema", {}).get("properties", {}).items()
            ]
            answers = [
                (
                    code(str(status)),
                    cell(str(answer.get("description", "an error"))),
                    ", ".join(map(code, answer.get("content", {}))),
                )
                for status, answer in of["responses"].items()
                if status != "default"
            ]
            parts += [
                f"## {method.upper()} {plain(path)}",
                plain(of.get("summary", "")),
                plain(of.get("description", "")),
                table(("parameter", "in", "what it is"), [*rows, *fields]),
                table(("answer", "what it is", "type"), answers),
            ]
    return page("HTTP API", plain(said["info"]["description"]), *parts)


def _python() -> str:
    """Return the page of the package's public names, which Sphinx fills from their docstrings."""
    found = ["```{eval-rst}\n.. currentmodule:: counterbalance\n```"]
    for name in (n for n in cb.__all__ if n != "__version__"):
        what = "autoclass" if inspect.isclass(getattr(cb, name)) else "autofunction"
        lines = [f".. {what}:: counterbalance.{name}", *(["   :members:"] if what == "autoclass" else [])]
        found += [f"## {name}", "```{eval-rst}\n" + "\n".join(lines) + "\n```"]
    return page("Python", "What `import counterbalance` offers.", *found)
