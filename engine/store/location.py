"""Where a lake lies: a local folder, an object-store prefix, or memory."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from counterbalance.engine.errors import RequestError, StorageError, did_you_mean
from counterbalance.engine.store import credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUFFIX = ".lance"
CLOSED: Final = "sensitive"
"""The folder of a lake that other users of the machine cannot enter."""
ENCLOSED: Final = f"{CLOSED}/tables"
"""Where tables lie as a whole that have, or had, something closed in them. Not in ``CLOSED`` itself, where ``labels`` has a
closed part beside an open one, and the access log lies."""
_PROTOCOL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://|(?=/))")
_SCHEMES: Final = re.compile(r"(?:^|::)([A-Za-z0-9][A-Za-z0-9+._-]*)://")
_S3_NAMES = {
    "access_key_id": "key",
    "secret_access_key": "secret",
    "session_token": "token",
    "endpoint": "endpoint_url",
}
"""Lance's names of S3 options, without ``aws_``, and fsspec's."""
_EXTRAS: Final = {
    "s3": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "abfs": "az",
    "abfss": "az",
    "hf": "hf",
    "http": "http",
    "https": "http",
}
"""Schemes of addresses, and the extra of this package that brings what reads them."""
_LAKES: Final = ("s3", "gs", "az", "abfss", "oss", "tos")
"""Schemes of stores that Lance and fsspec both read and write."""


@dataclass(frozen=True)
class Location:
    """A lake's place; knows paths, no contents.

    Args:
        uri: A path, or an fsspec URI (``file://``, ``s3://``, ``memory://`` …).
        storage_options: For Lance's object store; the environment's credentials are used without them.
        durable: Whether what is written is on the disk before it is said to be there.

    Example:
        >>> Location("/data/coco.lake").table("captions")
        '/data/coco.lake/captions.lance'
        >>> Location("memory://x").table("meta/runs")
        'shared-memory://x/meta/runs.lance'
    """

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    durable: bool = field(default=False, compare=False)

    @cached_property
    def root(self) -> str:
        """Return the place as Lance names it."""
        scheme, separator, rest = self.uri.partition("://")
        if not separator:
            return _absolute(Path(self.uri).expanduser())
        if scheme in {"file", "local"}:
            return _absolute(Path(rest))
        if scheme == "memory":
            return f"shared-memory://{quote(rest.strip('/'))}"  # Lance takes what is no URI for a path
        return self.uri.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Return whether it is a folder of this machine."""
        return "://" not in self.root

    @property
    def is_memory(self) -> bool:
        """Return whether it lives in this process only."""
        return self.root.startswith("shared-memory://")

    @property
    def path(self) -> Path:
        """Return the folder of a local lake; others have none."""
        return Path(self.root)

    def table(self, name: str) -> str:
        """Return the URI of a table; ``name`` may have a folder in front (``meta/runs``)."""
        return f"{self.root}/{self.folder(name)}"

    def folder(self, name: str) -> str:
        """Return the folder of a table in the lake: the only place that knows where a table lies."""
        return f"{ENCLOSED}/{name}{SUFFIX}" if self.encloses(name) else f"{name}{SUFFIX}"

    def encloses(self, name: str) -> bool:
        """Tell whether a table lies in the closed folder, or is to be made there."""
        if "/" in name or self.is_memory:
            return False
        if self.is_local:
            return os.path.isdir(f"{self.root}/{ENCLOSED}/{name}{SUFFIX}")  # noqa: PTH112 - a Path raises where one may not look
        return name in self.enclosed()

    def enclosed(self, *, anew: bool = False) -> frozenset[str]:
        """Return names of the tables that lie in the closed folder, of which some may have no rows yet.

        An object store is asked once a process, and whenever ``anew`` is set: tables never move there.
        """
        if self.is_local or self.is_memory:
            return frozenset(self.folders(ENCLOSED))
        if anew or self.root not in _enclosed:
            _enclosed[self.root] = frozenset(self.folders(ENCLOSED))
        return _enclosed[self.root]

    def table_path(self, name: str) -> Path:
        """Return the folder of a table of a local lake."""
        return self.path / self.folder(name)

    def lance_options(self) -> dict[str, str]:
        """Return storage options for Lance: the given ones over what the environment says about an S3-compatible server.

        Raises:
            StorageError: Nothing says who asks the store (``E6016``).
        """
        options = dict(self.storage_options)
        if not self.is_local:
            credentials.check(self.root, options)
        if self.root.startswith("s3://") and "AWS_ENDPOINT_URL" in os.environ:
            options.setdefault("aws_endpoint", os.environ["AWS_ENDPOINT_URL"])
            if os.environ["AWS_ENDPOINT_URL"].startswith("http://"):
                options.setdefault("allow_http", "true")
        return options

    def filesystem(self) -> tuple[Any, str]:
        """Return an fsspec file system and the root's path in it; for object stores and local folders.

        Raises:
            StorageError: No lake can lie there (``E6020``), or as ``open_store``.
        """
        if not self.is_local:
            scheme = self.root.partition("://")[0]
            if scheme not in _LAKES:
                _require_known(scheme, self.uri)
                raise StorageError(
                    f"a lake cannot lie at {self.uri}: {scheme}:// is nothing that tables are written to",
                    code="E6020",
                    hint=f"a folder of this machine, or {', '.join(f'{s}://' for s in _LAKES)}",
                )
        options: dict[str, Any] = {}
        if self.root.startswith("s3://"):
            given = {name.removeprefix("aws_"): value for name, value in self.lance_options().items()}
            options = {mine: given[lances] for lances, mine in _S3_NAMES.items() if lances in given}
            if credentials.is_anonymous(given):
                options["anon"] = True
            elif "key" not in options:
                options |= credentials.from_environment()
            if "region" in given:
                options["client_kwargs"] = {"region_name": given["region"]}
        return open_store(self.root, options)

    def files(self) -> tuple[Any, str]:
        """Do as ``filesystem`` does, for a lake in memory too, whose files live in fsspec's memory."""
        if not self.is_memory:
            return self.filesystem()
        return open_store("memory://" + self.root.removeprefix("shared-memory://"))

    def folders(self, under: str = "") -> Iterator[str]:
        """Yield names of the Lance tables that lie there, whoever made them."""
        if self.is_memory:
            return
        entries: Iterator[str] = iter(())
        if self.is_local:
            base = self.path / under
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                entries = iter([e.name for e in base.iterdir()])
        else:
            system, path = self.filesystem()
            system.invalidate_cache()
            folder = f"{path}/{under}".rstrip("/")
            entries = iter(
                [p.rstrip("/").rsplit("/", 1)[-1] for p in system.ls(folder, detail=False)]
                if system.exists(folder)
                else []
            )
        yield from sorted(e.removesuffix(SUFFIX) for e in entries if e.endswith(SUFFIX))


def open_store(uri: str, options: Mapping[str, Any] | None = None) -> tuple[Any, str]:
    """Return the fsspec file system of a path or address, and the path there; nothing is asked of it yet.

    Args:
        uri: A path, or a URI, also several that are chained (``zip://a.csv::https://…``).
        options: Storage options, as fsspec names them.

    Raises:
        StorageError: What reads such addresses is not installed (``E6017``), or nothing is known to (``E6020``).
    """
    import fsspec

    for scheme in _SCHEMES.findall(uri):
        _require_known(scheme, uri)
        try:
            fsspec.get_filesystem_class(scheme)
        except (ImportError, ValueError) as error:  # of some it is the library that makes them known
            install = f"pip install 'counterbalance[{_EXTRAS[scheme]}]'" if scheme in _EXTRAS else str(error)
            raise StorageError(
                f"cannot reach {uri}: what reads {scheme}:// is not installed", code="E6017", hint=install
            ) from error
    system, path = fsspec.core.url_to_fs(uri, **(options or {}))
    return system, path


def _require_known(scheme: str, uri: str) -> None:
    """Refuse a scheme that nothing reads (``E6020``)."""
    import fsspec

    known = {*_EXTRAS, *fsspec.available_protocols()}
    if scheme not in known:
        raise StorageError(
            f"cannot reach {uri}: nothing is known that reads {scheme}://{did_you_mean(scheme, known)}",
            code="E6020",
            hint=f"a path, or {', '.join(f'{s}://' for s in _EXTRAS)}; and what else fsspec reads: ftp://, sftp://, oss:// …",
        )


def at_moment(place: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return a lake's place, and the tag or moment behind the last ``@`` of it; ``None`` without one, or where all of it is there.

    Example:
        >>> at_moment("coco.lake@v1"), at_moment("s3://me@there/coco.lake")
        (('coco.lake', 'v1'), ('s3://me@there/coco.lake', None))
    """
    place = str(place)
    lake, sign, at = place.rpartition("@")
    if not sign or not lake or not at or "/" in at:
        return place, None
    system, root = Location(place).files()
    return (place, None) if system.exists(root) else (lake, at)


def local_path(uri: str | os.PathLike[str]) -> Path:
    """Return the path of this machine that something is written to.

    Args:
        uri: A path, or a ``file://`` URI, also one that passed through ``pathlib``, which takes slashes for one.

    Raises:
        RequestError: It has another protocol (E3681).

    Example:
        >>> [str(local_path(u)) for u in ("out/a.csv", "file:///data/x", "file:/data/x")]
        ['out/a.csv', '/data/x', '/data/x']
    """
    text = os.fspath(uri)
    found = _PROTOCOL.match(text)
    if found is None and not text.lower().startswith("file:"):
        return Path(text)
    if found is not None and found[1].lower() in {"file", "local"} and text[found.end() :].startswith("/"):
        return Path(text[found.end() :])
    raise RequestError(
        f"{text} is not a path of this machine",
        code="E3681",
        hint="write to a path or file:///path, then copy it there",
    )


def _absolute(path: Path) -> str:
    """Return the place as everybody understands it: Lance strikes ``link/..`` out, where the system follows the link."""
    return str(path.resolve() if ".." in path.parts else path.absolute())


def session() -> Any:
    """Return one Lance session a process: shared caches, and the same memory store for every handle."""
    global _session  # noqa: PLW0603 - Lance's own caches are per session; one is wanted
    if _session is None:
        import lance

        _session = lance.Session()  # type: ignore[attr-defined]
    return _session


_session: Any = None
_enclosed: dict[str, frozenset[str]] = {}
