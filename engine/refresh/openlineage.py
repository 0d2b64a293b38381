"""Events of OpenLineage, by which other tools see what a refresh ran, on what: lines of a file, or posts to an endpoint.

Off unless asked for. Of what is closed an event has the name and that it ran: no SQL, no columns, no text of an error. No
event has a value or a number of rows. A receiver that fails ends the telling, which is noted, and never the refresh.
"""

from __future__ import annotations

import datetime as dt
import json
import urllib.request
import uuid
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pyarrow as pa

from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.errors import CounterbalanceError, RequestError, StorageError, kind_of
from counterbalance.engine.sql.parse import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_SPEC: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets/1-0-0/{0}.json#/$defs/{0}"
_SECONDS: Final = 5.0
"""How long an endpoint may take for one event."""


class Events:
    """Tells of stages as they begin and end.

    Args:
        to: A file, which lines are added to, or the address of an endpoint (``http://…/api/v1/lineage``).

    Raises:
        RequestError: It is an address of another kind.
        StorageError: The file cannot be written.
    """

    def __init__(self, to: str) -> None:
        self.notes: list[str] = []
        self._producer = f"urn:counterbalance:{version('counterbalance')}"
        scheme, is_address, _ = to.partition("://")
        self._place = to
        if is_address:
            self._place = urlsplit(to).hostname or ""
            if scheme.lower() not in {"http", "https"} or not self._place:
                hint = "such as events.jsonl or http://localhost:5000/api/v1/lineage"
                told = "OpenLineage events go to a file or to an address that begins with http://HOST or https://HOST"
                raise RequestError(told, code="E3058", hint=hint)
        self._put: Callable[[bytes], None] = _poster(to) if is_address else _adder(Path(to).expanduser())

    def around(self, context: Context, definition: Definition, work: Callable[[], Stage]) -> Stage:
        """Do a stage, and tell when it begins and how it ended."""
        run = str(uuid.uuid4())
        self._tell(context, definition, run, "START")
        try:
            stage = work()
        except BaseException:
            self._tell(context, definition, run, "ABORT")
            raise
        self._tell(context, definition, run, "FAIL" if stage.mode == "failed" else "COMPLETE", stage)
        return stage

    def _tell(
        self, context: Context, definition: Definition, run: str, happened: str, stage: Stage | None = None
    ) -> None:
        if self.notes:
            return
        try:
            self._put(json.dumps(self._event(Catalog(context.location), definition, run, happened, stage)).encode())
        except (OSError, HTTPException, ValueError, CounterbalanceError, pa.ArrowException) as error:
            self.notes.append(
                f"{self._place} takes no OpenLineage events: {_reason(error)}; "
                f"none is sent from {happened} of {definition.target} on, and the refresh is not touched by it"
            )

    def _event(
        self, catalog: Catalog, definition: Definition, run: str, happened: str, stage: Stage | None
    ) -> dict[str, Any]:
        location, target = catalog.location, definition.target
        namespace = Path(location.root).as_uri() if location.is_local else location.uri.rstrip("/")
        is_closed, run_facets, job_facets = catalog.closed.holds(definition), {}, {}
        if definition.kind != "index" and not is_closed:
            job_facets["sql"] = self._facet("SQLJobFacet", query=_sql(definition))
        if stage is not None and stage.code is not None:
            told = f"{target} failed" if is_closed else stage.message
            run_facets["errorMessage"] = self._facet(
                "ErrorMessageRunFacet", message=f"{told} ({stage.code})", programmingLanguage="PYTHON"
            )

        def dataset(name: str) -> dict[str, Any]:
            fields = _fields(catalog, name)
            facets = {"schema": self._facet("SchemaDatasetFacet", fields=fields)} if fields else {}
            return {"namespace": namespace, "name": name, "facets": facets}

        return {
            "eventType": happened,
            "eventTime": dt.datetime.now(dt.UTC).isoformat(),
            "run": {"runId": run, "facets": run_facets},
            "job": {"namespace": namespace, "name": f"refresh.{target}", "facets": job_facets},
            "inputs": [dataset(name) for name in _inputs(catalog, definition)],
            "outputs": [dataset(target)],
            "producer": self._producer,
            "schemaURL": _SPEC,
        }

    def _facet(self, name: str, **fields: Any) -> dict[str, Any]:
        return {"_producer": self._producer, "_schemaURL": _FACETS.format(name), **fields}


def _inputs(catalog: Catalog, definition: Definition) -> list[str]:
    """Return tables and views that a definition reads, and the generated columns; of perceived labels none, as ``lineage`` does."""
    found = {relation for relation, _ in definition.reads if relation != SENSITIVE_LABELS}
    if definition.kind != "view":
        found.add(definition.table)
    return sorted(found | {d.target for d in catalog.definitions.upstream(definition)})


def _fields(catalog: Catalog, name: str) -> list[dict[str, str]]:
    """Return the columns that everybody sees, with their types; generated ones are things of their own."""
    definition = catalog.definitions.by_target.get(name)
    table = name if definition is None else definition.table
    if definition is not None and definition.kind == "index":
        return []
    try:
        types, hidden = catalog.types(table), catalog.sensitive_columns(table)
    except CounterbalanceError:  # a word list, or what does not bind any more
        return []
    if definition is not None and definition.kind == "column":
        named = {definition.name}
    else:
        named = types.keys() - catalog.definitions.columns(table).keys()
    return [{"name": c, "type": str(kind)} for c, kind in types.items() if c in named and c not in hidden]


def _sql(definition: Definition) -> str:
    if definition.kind == "view":
        return definition.sql
    return f"SELECT {definition.sql} AS {quoted(definition.name)} FROM {quoted(definition.table)}"


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        error.close()
        return f"it answers {error.code}"
    return str(getattr(error, "reason", error)) if isinstance(error, OSError) else kind_of(error)


def _adder(path: Path) -> Callable[[bytes], None]:
    """Return what adds lines to a file, which is made here."""

    def add(line: bytes) -> None:
        with path.open("ab") as file:
            file.write(line + b"\n")

    try:
        path.open("ab").close()
    except OSError as error:
        hint = "check the path, its permissions and the disk"
        raise StorageError(f"cannot write {path}: {error.strerror}", code="E6010", hint=hint) from error
    return add


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        """Follow none: a post would become another request, perhaps to somebody else."""


def _poster(address: str) -> Callable[[bytes], None]:
    """Return what posts to an address."""
    opener = urllib.request.build_opener(_NoRedirect)

    def post(body: bytes) -> None:
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - http or https
        with opener.open(request, timeout=_SECONDS):
            pass

    return post
