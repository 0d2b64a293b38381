"""Scalar functions over Arrow arrays: callable in any query, and as generated columns over tables of any size.

A function is declared once, with types, a version and a line of help::

    @udf
    def shouting(text: str) -> float:
        '''Share of capital letters.'''

or, over arrays, with the types where hints do not tell them::

    @udf(returns=pa.float64(), parameters=[Parameter("text", pa.string())], version="1")
    def shouting(text: pa.Array) -> pa.Array: ...

A model is a class: constants come to its constructor, ``open(device)`` loads it once a worker, calling it takes a batch,
``close()`` lets go::

    @udf(returns=pa.list_(pa.float32(), 512), parameters=[Parameter("image", pa.binary())], version="1", device="auto")
    class embed:
        def open(self, device: str) -> None: ...
        def __call__(self, image: pa.Array) -> pa.Array: ...
        def close(self) -> None: ...

Where a class has ``expect(…)`` with the parameters of ``__call__``, a refresh tells it before a batch what the batch behind
it will be, so that it can begin to decode while the device is busy.

The engine finds functions through the entry point group ``counterbalance.udfs`` (an entry for each function: its name, and
the module whose import declares it) and in files that users name (``load_file``). A *constant* parameter must be a literal in SQL and
arrives as a plain Python value; every other one arrives as an Arrow array of the batch's length, NULLs included, and
the result must have that length too. A callable whose only parameter is named ``batch`` gets a record batch instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.resources
import importlib.util
import inspect
import json
import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from counterbalance.engine import listing, type_hints
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.plugins import by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.metadata import EntryPoint

    import pyarrow as pa

GROUP: Final = "counterbalance.udfs"
LIST: Final = "functions.json"
_REQUIRED: Final = object()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function.

    Args:
        name: Its name, usable in SQL as ``name := value``.
        type: Arrow type of a value.
        default: SQL literal value when left out; leave unset for a required one.
        constant: Must be a literal; the function then gets the Python value instead of an array.
    """

    name: str
    type: pa.DataType
    default: Any = _REQUIRED
    constant: bool = False

    @property
    def required(self) -> bool:
        """Return whether a call must give it."""
        return self.default is _REQUIRED


@dataclass(frozen=True, slots=True)
class Partial:
    """What a function returns when some rows of a batch failed and the others are right.

    Args:
        values: The result, one a row; what stands in a failed row does not matter.
        errors: Message by row number in the batch.
    """

    values: pa.Array
    errors: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """A function as lists show it, all in words: read from ``functions.json`` without importing its module."""

    name: str
    signature: str
    returns: str
    version: str
    device: str
    memory: str | None
    doc: str


@dataclass(frozen=True, slots=True)
class Function:
    """A declared function: name, typed signature, version and the code.

    Args:
        name: Its name in SQL.
        call: The function, or the class of a model.
        parameters: The signature.
        returns: Arrow type of the result, or a function of the constants that tells it.
        version: Changes when results change.
        doc: Its first line of help.
        batch_size: Rows it likes at once.
        device: ``"cpu"``, or ``"auto"`` for one that uses an accelerator when there is one.
        memory: What it needs beside its batch, such as ``"4GB"``; told by ``meta.functions``.
        on_error: ``"record"`` keeps a failed row as NULL with its reason; ``"raise"`` stops the refresh.
        weights: Digest of what it loads, or a function of the constants that tells it; part of the fingerprint.
        in_sql: From the constants, SQL that gives the same and calls the function only for rows that it cannot decide.
        source: The file a user named, if it came from one.
    """

    name: str
    call: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    returns: pa.DataType | Callable[..., pa.DataType]
    version: str
    doc: str = field(default="", compare=False)
    batch_size: int = field(default=1024, compare=False)
    device: Literal["cpu", "auto"] = field(default="cpu", compare=False)
    memory: str | None = field(default=None, compare=False)
    on_error: Literal["record", "raise"] = field(default="record", compare=False)
    weights: str | Callable[..., str] | None = field(default=None, compare=False)
    in_sql: Callable[..., str | None] | None = field(default=None, compare=False)
    source: str | None = field(default=None, compare=False)

    def type(self, constants: Mapping[str, Any]) -> pa.DataType:
        """Return the Arrow type of the result with these constants; a model's vectors are as long as the model makes them."""
        return self.returns(**constants) if callable(self.returns) else self.returns

    def digest(self, constants: Mapping[str, Any]) -> str:
        """Return the digest of the weights it would load with these constants; empty without any."""
        return self.weights(**constants) if callable(self.weights) else self.weights or ""

    def open(self, constants: Mapping[str, Any], device: str = "cpu") -> Opened:
        """Return the function ready to be called on arrays; a model is loaded on ``device``."""
        return Opened(self, constants, device)

    @property
    def listed(self) -> Listed:
        """Return the function in words, as ``functions.json`` keeps it."""
        returns = "depends on its parameters" if callable(self.returns) else str(self.returns)
        return Listed(self.name, self.signature, returns, self.version, self.device, self.memory, self.doc)

    @property
    def signature(self) -> str:
        """Return it as SQL would write it, optional ones in brackets.

        Example:
            >>> import pyarrow as pa
            >>> Function("f", print, (Parameter("text", pa.string()),), pa.bool_(), "1").signature
            'f(text)'
        """
        required = [p.name for p in self.parameters if p.required]
        optional = [p.name for p in self.parameters if not p.required]
        tail = f"[{', ' if required else ''}{', '.join(optional)}]" if optional else ""
        return f"{self.name}({', '.join(required)}{tail})"


class Opened:
    """A function with its constants fixed, and its model loaded. Close it. A model is called by one thread at a time."""

    def __init__(self, function: Function, constants: Mapping[str, Any], device: str) -> None:
        self._constants = dict(constants)
        self._instance: Any = None
        self._turn: Any = threading.Lock()
        self._names = [p.name for p in function.parameters if not p.constant]
        if inspect.isclass(function.call):
            self._instance = function.call(**self._constants)
            self._constants = {}
            if hasattr(self._instance, "open"):
                self._instance.open(device)
        else:
            self._turn = contextlib.nullcontext()
        self._call: Callable[..., Any] = self._instance if self._instance is not None else function.call
        self._takes_batch = _parameters_of(self._call) - self._constants.keys() == {"batch"} != set(self._names)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """Return the result for arrays of equal length, in the order of the parameters that are not constants.

        Raises:
            RuntimeError: It raised what is no ``Exception``, as Rust does where it gives up.
        """
        try:
            with self._turn:
                if self._takes_batch:
                    import pyarrow as pa

                    return self._call(pa.record_batch(list(arrays), names=self._names), **self._constants)
                return self._call(**dict(zip(self._names, arrays, strict=True)), **self._constants)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def expect(self, arrays: Sequence[Any]) -> None:
        """Tell a model whose class has ``expect``, before a batch, what the batch behind it will be if all goes well."""
        self._instance.expect(**dict(zip(self._names, arrays, strict=True)))

    def close(self) -> None:
        """Let the model go."""
        instance, self._instance = self._instance, None
        if hasattr(instance, "close"):
            instance.close()


class OpenFunctions(dict[str, Opened]):
    """Functions by the name they are called with; closed with ``close``, or when nobody holds them any more."""

    def close(self) -> None:
        """Let their models go."""
        while self:
            self.popitem()[1].close()

    def __del__(self) -> None:
        suppressed = getattr(contextlib, "suppress", None)  # at the end of the process modules are gone
        if suppressed is not None:
            with suppressed(Exception):
                self.close()


def _parameters_of(call: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return set()


_registry: dict[str, Function] = {}
_loading: str | None = None


@cache
def built_in() -> frozenset[str]:
    """Return the names of DuckDB's own functions, in lower case.

    Example:
        >>> "list_slice" in built_in()
        True
    """
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    return frozenset(name for (name,) in rows)


def _refuse_name(name: str) -> None:
    """Refuse a name for a function of one's own that audits call, or that the engine itself makes."""
    hint = "give yours another name"
    if name in built_in():
        raise RequestError(f"DuckDB has a function {name!r}", code="E3004", hint=hint)
    if "__" in name:
        raise RequestError(f"{name!r}: names with __ are the engine's own", code="E3004", hint=hint)


def udf(
    call: Callable[..., Any] | None = None,
    *,
    returns: pa.DataType | Callable[..., pa.DataType] | None = None,
    parameters: Sequence[Parameter] | Mapping[str, pa.DataType] | None = None,
    version: str | None = None,
    name: str | None = None,
    batch_size: int = 1024,
    device: Literal["cpu", "auto"] = "cpu",
    memory: str | None = None,
    on_error: Literal["record", "raise"] = "record",
    weights: str | Callable[..., str] | None = None,
    in_sql: Callable[..., str | None] | None = None,
) -> Callable[..., Any]:
    """Declare a function for SQL; the Python function or class itself is returned unchanged.

    A function gets Arrow arrays by parameter name, or one record batch when its only parameter is named ``batch``, and
    returns as many values. A class is a model: its constructor gets the constants, ``open(device)`` loads it once
    (``device`` is ``"cpu"``, ``"cuda:0"`` …), each call gets a batch, ``close()`` lets it go. Rows that fail are told by
    raising, which tries the rows of the batch apart, or by returning ``Partial``.

    Without ``returns`` and ``parameters`` type hints tell them. Where they are of Python values, as in
    ``def shout(text: str, times: int = 2) -> float``, it is called row by row; NULL gives NULL unless a hint is of ``None``, too, and
    what it raises is that row's error. Where they are of arrays (``pa.StringArray``), it is called batch by batch. Parameters with
    a default are constants.

    Args:
        call: The function, where the decorator stands without parentheses.
        returns: Arrow type of the result: numbers, strings, booleans, bytes, lists, fixed-size lists, structs; or a
            function of the constants that tells it without loading a model.
        parameters: The signature, in order, required ones first; or types by name.
        version: Changes when results change; columns made with another version are stale. A digest of the source without it,
            which changes with any of its letters, and not with functions that it calls.
        name: SQL name; the Python name otherwise.
        batch_size: Rows it likes at once, when a column is computed.
        device: ``"auto"`` for one that uses an accelerator when there is one.
        memory: What it needs beside its batch, such as ``"4GB"``.
        on_error: ``"record"`` keeps a failed row as NULL and its reason in ``meta.errors``; ``"raise"`` stops.
        weights: Digest of the weights, or a function of the constants that returns it.
        in_sql: A function of the constants that returns SQL over the other parameters, which a query has in place of a call on
            columns. It gives the same, on every core; in it the function's name with these parameters stands for a call, for
            rows that SQL cannot decide:
            ``CASE WHEN NOT regexp_matches(text, '…', 'i') THEN false ELSE shouting(text) END``.

    Raises:
        RequestError: The name is taken by another function, or its hints do not tell the types.

    Example:
        >>> @udf
        ... def doc_shout(text: str, times: int = 2) -> float:
        ...     return times * sum(map(str.isupper, text)) / max(len(text), 1)
        >>> function("doc_shout").signature, function("doc_shout").version[:6]
        ('doc_shout(text[, times])', 'source')

        >>> import pyarrow as pa, pyarrow.compute as pc
        >>> @udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="doc_length")
        ... def doc_length(text: pa.Array) -> pa.Array:
        ...     return pc.utf8_length(text)
        >>> function("doc_length").signature
        'doc_length(text)'
    """
    if parameters is not None and not isinstance(parameters, list | tuple):
        items = parameters.items() if hasattr(parameters, "items") else ((p.name, p) for p in parameters)
        parameters = [p if isinstance(p, Parameter) else Parameter(n, p) for n, p in items]

    def declare(call: Callable[..., Any]) -> Callable[..., Any]:
        if (returns is None) != (parameters is None):
            raise RequestError(
                f"{call.__name__}: @udf takes returns and parameters, or neither where type hints tell them",
                code="E3066",
                hint=f"write {type_hints.written(call)}",
            )
        doc = (call.__doc__ or "").strip().splitlines()
        run, signature, kind = call, tuple(parameters or ()), returns
        if kind is None:
            run, signature, kind = _hinted(call)
        function = Function(
            (name or call.__name__).lower(),
            run,
            signature,
            kind,
            version or type_hints.version(call),
            doc[0] if doc else "",
            batch_size=batch_size,
            device=device,
            memory=memory,
            on_error=on_error,
            weights=weights,
            in_sql=in_sql,
            source=None if any(e.value == call.__module__ for e in _installed().values()) else _loading,
        )
        known, installed = _registry.get(function.name), _installed().get(function.name)
        owner = known.call.__module__ if known is not None else installed.value if installed is not None else None
        if owner not in {None, call.__module__}:
            raise RequestError(f"function {function.name!r} is already declared by {owner}", code="E3004")
        if function.name not in _installed():
            _refuse_name(function.name)
        _registry[function.name] = function
        return call

    return declare if call is None else declare(call)


def _hinted(call: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Parameter, ...], pa.DataType]:
    """Return what runs over arrays, the signature and the type of the result of a function, by its hints."""
    hinted = type_hints.read(call)
    signature = tuple(
        Parameter(n, kind) if default is type_hints.REQUIRED else Parameter(n, kind, default, constant=True)
        for n, (kind, default) in hinted.parameters.items()
    )
    if not hinted.by_row:
        return call, signature, hinted.returns
    of_arrays = type_hints.by_row(call, hinted)

    @functools.wraps(call)
    def run(**given: Any) -> pa.Array | Partial:
        values, errors = of_arrays(**given)
        return Partial(values, errors) if errors else values

    return run, signature, hinted.returns


def load_file(path: str) -> list[str]:
    """Run a user's Python file for the functions it declares; returns their names. The same file again does nothing.

    Raises:
        NotFoundError: It is not there.
        RequestError: It fails, or declares no function.
    """
    global _loading  # noqa: PLW0603 - tells `udf` which file it runs in
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise NotFoundError(f"no file of functions at {path}", code="E1031")
    name = "counterbalance_udfs_" + hashlib.sha256(str(file).encode()).hexdigest()[:12]
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise RequestError(f"{path} is no Python file", code="E3060")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name], _loading = module, str(file)
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            reason = error.message if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"
            lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
            place = f", line {lines[-1]}" if lines else ""
            hint = error.hint if isinstance(error, RequestError) else None
            raise RequestError(f"{path}{place} cannot be loaded: {reason}", code="E3060", hint=hint) from error
        finally:
            _loading = None
    found = [f.name for f in _registry.values() if f.source == str(file)]
    if not found:
        raise RequestError(f"{path} declares no function", code="E3061", hint="decorate one with @counterbalance.udf")
    return found


class Functions(Mapping[str, Function]):
    """All functions by name, in order of their names; the module of an installed one is imported when it is asked for."""

    def __getitem__(self, name: str) -> Function:
        """Return a function.

        Raises:
            KeyError: There is none of that name, or its package cannot be imported.
        """
        if name not in _registry and name in _installed():
            try:
                module = _installed()[name].load()
                if name not in _registry:  # it was imported, and what it declared was taken back
                    importlib.reload(module)
            except ImportError as error:
                _log.warning("function %s cannot be loaded: %s", name, error)
        return _registry[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is one of that name, without importing it."""
        return name in _registry or name in _installed()

    def __iter__(self) -> Iterator[str]:
        """Return names in their order."""
        return iter(sorted({*_registry, *_installed()}))

    def __len__(self) -> int:
        """Return how many there are."""
        return len({*_registry, *_installed()})

    def __repr__(self) -> str:
        return listing.as_text((f.signature, f.doc) for f in function_list())

    def _repr_html_(self) -> str:
        return listing.as_html((f.signature, f.doc) for f in function_list())


def _installed() -> dict[str, EntryPoint]:
    """Return the functions of installed packages by name: each is an entry point that names the module."""
    return by_name(GROUP)


def functions() -> Functions:
    """Return all declared functions by name.

    Example:
        >>> "vader" in functions(), functions()["vader"].signature
        (True, 'vader(text[, rules])')
    """
    return Functions()


def function_list() -> list[Listed]:
    """Return what lists say of all functions, in order of their names.

    Nothing is imported for those of a package that says it in ``functions.json`` (``tools/list_functions.py`` writes ours).

    Example:
        >>> next(f.returns for f in function_list() if f.name == "vader")
        'double'
    """
    found = []
    for name in functions():
        entry = None if name in _registry else _installed()[name]
        said = None if entry is None else _said(entry.module.rpartition(".")[0]).get(name)
        if said is not None:
            found.append(Listed(name, **said))
        elif function := functions().get(name):
            found.append(function.listed)
    return found


@cache
def _said(package: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what a package, or one that it lies in, says of functions by name."""
    for outer in accumulate(filter(None, package.split(".")), "{}.{}".format):
        said = importlib.resources.files(outer) / LIST
        if said.is_file():
            said_of: dict[str, dict[str, Any]] = json.loads(said.read_text(encoding="utf-8"))
            return said_of
    return {}


def imported() -> list[Function]:
    """Return the functions that were declared in this process so far."""
    return list(_registry.values())


def function(name: str) -> Function:
    """Return the function of that name.

    Raises:
        NotFoundError: There is none.
    """
    known = functions()
    if name not in known:
        raise NotFoundError(f"no function {name!r}{did_you_mean(name, known)}", code="E1003")
    return known[name]
