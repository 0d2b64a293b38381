"""Options that several commands have: how rows are written, and what a session may do."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterbalance.cli import values
from counterbalance.cli.base import OutputPath
from counterbalance.engine import memory
from counterbalance.shell.output import FORMATS, OutputOptions, format_of, no_format
from counterbalance.shell.progress import MODES, reporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from counterbalance import Lake
    from counterbalance.engine.backends import Engine
    from counterbalance.engine.session import Session
    from counterbalance.engine.store.location import Location
    from counterbalance.shell.progress import Reporter

_ALLOW: Final = "COUNTERBALANCE_ALLOW_DOWNLOAD"
"""As ``udfs.models.weights`` reads it."""


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--format``, ``-o`` and the short forms ``--json`` and ``--csv``, as one argument ``output``."""

    @click.option("--format", "format_", type=click.Choice(FORMATS), help="Format of the rows.  [default: table]")
    @click.option("--json", "format_", flag_value="json", help="Short for --format json.")
    @click.option("--csv", "format_", flag_value="csv", help="Short for --format csv.")
    @click.option(
        "-o",
        "--output",
        "path",
        type=OutputPath(path_type=Path),
        help="Write to FILE; the format from its suffix.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, format_: str | None, path: Path | None, **kwargs: Any) -> Any:
        return function(*args, output=_output(format_, path), **kwargs)

    return wrapper


def _output(format_: str | None, path: Path | None) -> OutputOptions:
    if path is not None and str(path) == "-":
        path = None
    if format_ is None and path is not None:
        format_ = format_of(path)
        if format_ is None:
            raise click.UsageError(f"{no_format(path)}; or give one with --format; export writes pictures as files")
    return OutputOptions(format_ or "table", path)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Describe how a session on a lake is opened, and its limits; the time limit is kept by ``shell.supervise``.

    Args:
        attach: Name to lake, for more lakes in the same query.
        at: A tag or a moment to read at.
        timeout: Seconds; none when ``None``.
        memory: Of a query, e.g. ``"2GB"``.
        threads: Of DuckDB; all cores when ``None``.
        engine: What runs queries, ``duckdb`` or ``spark``.
        max_rows: Rows of a result.
        sensitive: Purpose for reading sensitive columns.
        udfs: Files of the user's own functions.
        queries: Folders of the user's own audits, views and functions in SQL.
        durable: What statements write is on the disk when they end.
    """

    attach: Mapping[str, str] = field(default_factory=dict)
    at: str | None = None
    timeout: float | None = None
    memory: str | None = None
    threads: int | None = None
    engine: Engine = "duckdb"
    max_rows: int | None = None
    sensitive: str | None = None
    udfs: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    durable: bool = False

    def open(self, lake: str) -> Session:
        """Open a session on a lake; use it in a ``with``.

        Queries with a limit of memory, or functions of one's own, run in a process of their own, which these may end.
        """
        load(self.udfs)
        if self.queries:
            load_queries(self.queries)
            tell_broken()
        settings: dict[str, Any] = {
            "at": self.at,
            "sensitive": self.sensitive,
            "memory": self.memory,
            "threads": self.threads,
            "engine": self.engine,
        }
        opened = connect(lake, durable=self.durable)
        apart = self.engine == "duckdb" and not opened.location.is_memory and bool(self.memory or self.udfs)
        session = opened.session(attach=dict(self.attach), isolated=apart, **settings)
        if self.memory is not None:
            memory.cap(self.memory)  # of what runs here: statements that write, and answers that are kept
        return session


engine_option: Final = click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="What runs queries; Spark is that of SPARK_REMOTE or SPARK_MASTER, or one on this machine.",
)
"""Declare what runs queries, as an argument ``engine``."""


def session_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare what a session reads and its limits, as one argument ``limits``."""

    @click.option("--attach", multiple=True, metavar="NAME=LAKE", help="Also read LAKE, as NAME.table.")
    @click.option("--at", metavar="TAG|TIME", help="Read the lake as it was at a tag or moment (ISO 8601, UTC).")
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        default=300.0,
        show_default=True,
        envvar="COUNTERBALANCE_TIMEOUT",
        show_envvar=True,
        metavar="SECONDS",
        help="Stop after so many seconds; 0 for no limit.",
    )
    @click.option(
        "--memory",
        envvar="COUNTERBALANCE_MEMORY",
        show_envvar=True,
        callback=_size,
        metavar="SIZE",
        help="Memory for the query, e.g. 2GB.",
    )
    @click.option(
        "--threads", type=click.IntRange(min=1), metavar="N", help="Threads of a query.  [default: all cores]"
    )
    @engine_option
    @click.option("--max-rows", type=click.IntRange(min=1), metavar="N", help="Write at most N rows.")
    @click.option(
        "--sensitive", metavar="PURPOSE", help="Read sensitive columns too; PURPOSE goes into the access log."
    )
    @udfs_option
    @queries_option
    @download_option
    @functools.wraps(function)
    def wrapper(*args: Any, attach: tuple[str, ...], **kwargs: Any) -> Any:
        names = ("at", "memory", "threads", "engine", "max_rows", "sensitive", "udfs", "queries")
        named = {name: kwargs.pop(name) for name in names}
        limits = SessionOptions(values.pairs(attach, "NAME=LAKE"), timeout=kwargs.pop("timeout") or None, **named)
        return function(*args, limits=limits, **kwargs)

    return wrapper


def _size(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            memory.parse(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a size; write 512MB, 2GB, 1.5GiB …") from None
    return value


purpose_option: Final = click.option(
    "--sensitive", metavar="PURPOSE", help="Show sizes of closed tables too; PURPOSE goes into the access log."
)
"""Declare ``--sensitive``, of commands that tell sizes."""


progress_option: Final = click.option(
    "--progress",
    type=click.Choice(MODES),
    default="auto",
    show_default=True,
    envvar="COUNTERBALANCE_PROGRESS",
    show_envvar=True,
    help="Progress on stderr.",
)
"""Declare ``--progress``."""


udfs_option: Final = click.option(
    "--udfs", multiple=True, type=click.Path(), metavar="FILE", help="Python file of your own functions."
)
"""Declare ``--udfs``."""


queries_option: Final = click.option(
    "--queries",
    multiple=True,
    type=click.Path(),
    metavar="FOLDER",
    help="Folder of your own audits, views, functions.",
)
"""Declare folders of audits, views and functions of one's own, as an argument ``queries``."""


def download_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--allow-download``, which worker processes inherit as an environment variable while the command runs."""

    @click.option(
        "--allow-download",
        is_flag=True,
        help=f"Let models fetch weights that are not in the cache.  [env var: {_ALLOW}]",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, allow_download: bool, **kwargs: Any) -> Any:
        before = os.environ.get(_ALLOW)
        if allow_download:
            os.environ[_ALLOW] = "1"
        try:
            return function(*args, **kwargs)
        finally:
            os.environ.update({} if before is None else {_ALLOW: before})
            if before is None:
                os.environ.pop(_ALLOW, None)

    return wrapper


_COMPUTING: Final = (
    click.option("--retry-errors", is_flag=True, help="Try rows again whose function failed."),
    click.option(
        "--executor",
        default="local",
        show_default=True,
        metavar="NAME",
        help="local, inline, ray, or an installed one.",
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), metavar="N", help="Worker processes.  [default: one a device]"
    ),
    click.option(
        "--device",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="auto, cpu, cuda (every GPU), cuda:0, cuda:0,1 …",
    ),
    click.option("--batch-size", type=click.IntRange(min=1), metavar="N", help="Rows a function gets at once."),
    udfs_option,
    download_option,
)


def computing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare how functions run over a lake; the arguments are those of ``lake.refresh``, and ``udfs``."""
    return functools.reduce(lambda made, option: option(made), reversed(_COMPUTING), function)


def load(files: Iterable[str]) -> None:
    """Declare the functions of these files."""
    from counterbalance.engine.functions import load_file

    for file in files:
        load_file(file)


def load_queries(folders: Iterable[str]) -> None:
    """Add the audits, views and functions of these folders."""
    from counterbalance.engine.sql import queries

    for folder in folders:
        queries.load(folder)


def tell_broken() -> None:
    """Say which query files and packages were left out, and why."""
    from counterbalance.engine.sql import queries
    from counterbalance.shell import errors

    for name, error in queries.broken().items():
        errors.note(f"{name} was left out: {error.message}")


durable_option: Final = click.option(
    "--durable", is_flag=True, help="End only when what was written is on the disk, safe from a loss of power."
)
"""Declare ``--durable``, of commands that write to a lake."""


def connect(lake: str, *, durable: bool = False) -> Lake:
    """Return the lake of that name."""
    _start_without_pandas()
    import counterbalance

    return counterbalance.connect(lake, durable=durable)


class _NoPandas:
    """A finder of modules that says that pandas is not there."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Refuse it, and leave other names to other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _start_without_pandas() -> None:
    """Let pyarrow begin without pandas, where that is installed: it looks for it once, which takes long.

    Who asks for a data frame later gets one. Functions of one's own may hand over Series, which pyarrow then has to know.
    """
    if any(name in sys.modules for name in ("pandas", "pyarrow.dataset")) or any(map(_is_of_functions, sys.modules)):
        return
    finder: Any = _NoPandas
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


def _is_of_functions(module: str) -> bool:
    return module.startswith("counterbalance_udfs_")


def location_of(lake: str) -> Location:
    """Return where a lake lies, which must be there.

    Raises:
        NotFoundError: It is not.
    """
    from counterbalance.engine.write.journal import require_lake

    location = connect(lake).location
    require_lake(location)
    return location


def json_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare ``--json``, of commands that report what they did; see ``print_json``."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


def print_json(value: Any) -> None:
    """Write a value as one line of JSON."""
    import json

    click.echo(json.dumps(value, default=str))


@contextlib.contextmanager
def shown(progress: str, interrupted: str) -> Iterator[Reporter]:
    """Show the progress of long work.

    Args:
        progress: Mode of ``--progress``.
        interrupted: What to say on stderr where Ctrl-C ends it.
    """
    try:
        with reporter(progress) as report:
            yield report
    except KeyboardInterrupt:
        sys.stderr.write(f"{interrupted}\n")
        raise
