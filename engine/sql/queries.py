"""The queries that are known by name: audits and views of every installed package, functions in SQL, and files of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import built_in
from counterbalance.engine.listing import Listing
from counterbalance.engine.plugins import entry_points
from counterbalance.engine.sql.query_files import parse
from counterbalance.engine.sql.query_model import Kind, Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.resources.abc import Traversable

GROUP: Final = "counterbalance.queries"
_FOLDERS: Final[dict[str, Kind]] = {"audits": "audit", "views": "view"}


class Library(Mapping[str, Query]):
    """The queries of the installed packages by name; each file is read when it is asked for."""

    def __init__(self, folders: Mapping[str, Kind]) -> None:
        """Find the files; one whose name is taken is left out."""
        self._files: dict[str, tuple[Kind, Traversable]] = {}
        self._read: dict[str, Query] = {}
        self.broken: dict[str, RequestError] = {}
        self.added: list[tuple[Kind, Path]] = []
        self._is_filled = False
        for folder, kind in folders.items():
            for file in self._shipped(folder):
                try:
                    self.add(kind, file)
                except RequestError as error:  # of a package that is installed beside this one
                    self.broken[str(file)] = error
        self._is_filled = True

    def add(self, kind: Kind, file: Traversable) -> str:
        """Add a file; returns its name. A copy of one that is there, such as of one that was installed, is that one.

        Raises:
            RequestError: Another one has the name.
        """
        name = file.name.removesuffix(".sql")
        known, there = self._files.get(name, (kind, file))
        if (known, there) != (kind, file):
            if known == kind and there.read_bytes() == file.read_bytes():
                return name
            hint = f"give {file} another name; the other one is {there}"
            raise RequestError(f"two queries are called {name!r}", code="E3031", hint=hint)
        if self._is_filled:
            refuse_name(name, str(file))
        self._files[name] = (kind, file)
        self._read.pop(name, None)
        if isinstance(file, Path) and self._is_filled and (kind, file) not in self.added:
            self.added.append((kind, file))
        return name

    def _shipped(self, folder: str) -> Iterator[Traversable]:
        """Yield the SQL files in that folder of every installed package that offers some, by name."""
        for entry in entry_points(GROUP):
            try:
                root = files(entry.value)
            except ImportError as error:
                what = f"the package {entry.value} cannot be imported: {error}"
                self.broken[entry.value] = RequestError(what, code="E3030")
                continue
            yield from _in_folder(root / folder)

    def __getitem__(self, name: str) -> Query:
        """Return a query.

        Raises:
            RequestError: Its file is not as it must be.
        """
        if name not in self._read:
            kind, file = self._files[name]
            try:
                query = parse(file.read_text(encoding="utf-8"), kind, file.name)
                self._read[name] = replace(query, is_own=(kind, file) in self.added)
            except UnicodeDecodeError:
                raise RequestError(f"{file.name} is not UTF-8 text", code="E3030") from None
        return self._read[name]

    def sound(self) -> Iterator[Query]:
        """Yield the queries that can be read; others are kept in ``broken``."""
        for name in self:
            try:
                yield self[name]
            except RequestError as error:
                self.broken[str(self._files[name][1])] = error

    def __contains__(self, name: object) -> bool:
        """Tell whether there is one of that name, without reading it."""
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        """Iterate over names."""
        return iter(self._files)

    def __len__(self) -> int:
        """Count them."""
        return len(self._files)


def refuse_name(name: str, place: str) -> None:
    """Refuse a name for a file of one's own that stands for something else in SQL or in files of ours, or that the engine itself makes.

    Raises:
        RequestError: It is such a name.
    """
    from counterbalance.engine.sql.parse import SEARCHES, is_callable

    hint = f"give {place} another name"
    if name.lower() in built_in() or name.lower() in SEARCHES:
        raise RequestError(f"there is a function {name!r} already", code="E3031", hint=hint)
    if not is_callable(name):
        raise RequestError(f"{name!r} is a word of SQL, by which no rows can be called", code="E3031", hint=hint)
    if "__" in name:
        raise RequestError(f"{name!r}: names with __ are the engine's own", code="E3031", hint=hint)


@cache
def queries() -> Mapping[str, Query]:
    """Return all audits and views by name, from every installed package that offers some (entry points ``counterbalance.queries``)."""
    return Library(_FOLDERS)


@cache
def sql_functions() -> Mapping[str, Query]:
    """Return all functions written in SQL by name, from the same packages."""
    return Library({"functions": "function"})


def _in_folder(folder: Traversable) -> list[Traversable]:
    """Return the SQL files of a folder by name, none where there is no folder."""
    return (
        sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
        if folder.is_dir()
        else []
    )


def shipped(folder: str) -> Iterator[Traversable]:
    """Yield the SQL files in that folder of every installed package that offers some, by name."""
    yield from Library({})._shipped(folder)  # noqa: SLF001 - the same search, of files that are not queries


def sound() -> Iterator[Query]:
    """Yield all audits and views whose files can be read."""
    library = queries()
    yield from library.sound() if isinstance(library, Library) else library.values()


def broken() -> Mapping[str, RequestError]:
    """Return what is wrong with query files and packages that were left out, by their names."""
    return {**getattr(queries(), "broken", {}), **getattr(sql_functions(), "broken", {})}


def load(path: str | Path) -> list[str]:
    """Add audits, views and functions of one's own to those of this process; returns their names.

    Args:
        path: The file of an audit, or a folder: ``audits/*.sql``, ``views/*.sql`` and ``functions/*.sql`` in it as in a package,
            and ``*.sql`` as audits. A file of a folder that cannot be read is left out (see ``broken``).

    Raises:
        NotFoundError: Nothing is there.
        RequestError: The file is not as it must be, or its name is taken.
    """
    path = Path(path).expanduser()
    library, functions_ = queries(), sql_functions()
    if not isinstance(library, Library) or not isinstance(functions_, Library):
        raise TypeError(library)
    path = path.resolve()
    if path.is_file():
        name = library.add("audit", path)
        library[name]
        return [name]
    if not path.is_dir():
        raise NotFoundError(f"no file or folder of queries at {path}", code="E1054")
    found = []
    wanted: list[tuple[Library, Kind, Path]] = [(library, kind, path / name) for name, kind in _FOLDERS.items()]
    for one, kind, folder in [(library, "audit", path), *wanted, (functions_, "function", path / "functions")]:
        for file in _in_folder(folder):
            try:
                name = one.add(kind, file)
                one[name]
                found.append(name)
            except RequestError as error:
                one.broken[str(file)] = error
    return found


def added() -> list[tuple[Kind, str]]:
    """Return the files that ``load`` added, for ``restore`` in another process."""
    return [(kind, str(file)) for one in (queries(), sql_functions()) for kind, file in getattr(one, "added", ())]


def restore(files_: Iterable[tuple[Kind, str]]) -> None:
    """Add files that another process has."""
    for kind, file in files_:
        library = sql_functions() if kind == "function" else queries()
        if isinstance(library, Library):
            library.add(kind, Path(file))


def audits() -> Listing[Query]:
    """Return the audits by name."""
    return Listing({q.name: q for q in sound() if q.kind == "audit"})


def audit(name: str) -> Query:
    """Return the audit of that name.

    Raises:
        NotFoundError: There is none.
    """
    query = queries().get(name)
    if query is None or query.kind != "audit":
        raise NotFoundError.audit(name, audits())
    return query
