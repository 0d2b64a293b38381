"""The description of an export, or a lake, in Croissant 1.0: its files with digests, and the columns of its rows.

Croissant (MLCommons, http://mlcommons.org/croissant/1.0) is schema.org's ``Dataset`` with what loaders need. Rows are
described where they are Parquet or JSON; of tars the files are. What people should know, limits of perceived labels
above all, is in the description, and at length in the ``DATASHEET.md`` of an export. Of a lake files have no digests: ``cbal verify`` holds them.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from importlib.metadata import version
from mimetypes import guess_type
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import orjson
import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.information_schema import STORED
from counterbalance.engine.store.location import Location
from counterbalance.export.shards import Records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from counterbalance.engine.session import Session
    from counterbalance.export.datasheet import ExportFacts

NAME: Final = "croissant.json"
_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        term: f"cr:{term}"
        for term in (
            "citeAs",
            "column",
            "equivalentProperty",
            "extract",
            "field",
            "fileObject",
            "fileProperty",
            "fileSet",
            "format",
            "includes",
            "isLiveDataset",
            "jsonPath",
            "key",
            "md5",
            "parentField",
            "path",
            "recordSet",
            "references",
            "regex",
            "repeated",
            "replace",
            "samplingRate",
            "separator",
            "source",
            "subField",
            "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
}
_KINDS: Final = {
    ".parquet": "application/x-parquet",
    ".tar": "application/x-tar",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".lance": "application/x-lance",
}
"""Files that are told one by one, with their digests; others are pictures, told by the folder."""
_PAGES: Final = {".md"}
_LIMITS: Final = (
    "Labels of people are perceived: they say how groups are depicted, never who a person is. "
    "Not for telling anything of a person, for finding people, or for surveillance."
)


def render(facts: ExportFacts, folder: Path, records: Sequence[Records], licences: Collection[str]) -> bytes:
    """Return the description as JSON-LD.

    Args:
        facts: What was asked for.
        folder: Where the files are.
        records: Those that hold rows.
        licences: Of the images, as their sources name them.
    """
    files = [*_files(folder), *(_file_set(f"{r.name}-files", r.files) for r in records)]
    return _page(facts.lake, f"{facts.rows:,} rows, told of in DATASHEET.md, exported", licences, files, records)


def render_lake(lake: str, session: Session) -> bytes:
    """Return the description of the tables of a lake that a session may read, as JSON-LD.

    Args:
        lake: Where it is.
        session: As of the moment that is described.
    """
    place, records = Location(lake), []
    for name in (r.name for r in session.relations() if r.kind in STORED):
        with contextlib.suppress(SensitiveError):  # closed ones are left out
            schema = session.sql(f"SELECT * FROM {exp.to_identifier(name).sql()} LIMIT 0").schema
            records.append(Records(name, f"{place.folder(name)}/data/*.lance", {f.name: f.type for f in schema}))
    licences = [
        row[0] for row in session.sql("SELECT DISTINCT license FROM images WHERE license IS NOT NULL").fetchall()
    ]
    files = [_file_set(f"{r.name}-files", r.files) for r in records]
    return _page(lake, "Tables in Lance, kept", licences, files, records)


def _page(
    lake: str, what: str, licences: Collection[str], files: Sequence[Mapping[str, Any]], records: Sequence[Records]
) -> bytes:
    """Return the page about some files and the rows in them."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in lake.rstrip("/").rpartition("/")[2]) or "lake"
    by = f"by counterbalance {version('counterbalance')}"
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": f"{what} {by}. {_LIMITS}",
        "license": sorted(licences) or ["not stated"],
        "url": "https://pypi.org/project/counterbalance/",
        "datePublished": meta.now().strftime("%Y-%m-%d"),
        "version": "1.0.0",
        "citeAs": f"{name}, described {by}",
        "rai:dataUseCases": "Measuring and balancing how groups are depicted.",
        "rai:dataLimitations": _LIMITS,
        "distribution": files,
    }
    if records:
        found["recordSet"] = [_record_set(r) for r in records]
    return orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n"


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield files of documents, each with its digest, and then the pictures, by folder and ending."""
    pictures = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or path.suffix in _PAGES or path.is_dir():
            continue
        if path.suffix in _KINDS:
            yield _file(path, name.as_posix())
        else:
            pictures.add((name.parent / f"*{path.suffix}").as_posix())
    for number, pattern in enumerate(sorted(pictures)):
        yield _file_set(f"pictures-{number}", pattern)


def _file(path: Path, name: str) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": quote(name),  # no blanks, as mlcroissant asks
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": _KINDS[path.suffix],
        "sha256": digest,
    }


def _file_set(name: str, patterns: str | list[str]) -> dict[str, Any]:
    one = patterns if isinstance(patterns, str) else patterns[0]
    kind = _KINDS.get(PurePath(one).suffix) or guess_type(one)[0] or "application/octet-stream"
    return {"@type": "cr:FileSet", "@id": name, "name": name, "encodingFormat": kind, "includes": patterns}


def _record_set(records: Records) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{records.name}/{_slug(name, number)}",
            "name": name,
            "dataType": _type(kind),
            **({"repeated": True} if pa.types.is_list(kind) else {}),
            "source": {
                "fileSet": {"@id": f"{records.name}-files"},
                "extract": {"column": name} if records.path is None else {"jsonPath": f"{records.path}.{name}"},
                **({"transform": {"jsonPath": "bytes"}} if pa.types.is_struct(kind) else {}),
            },
        }
        for number, (name, kind) in enumerate(records.columns.items())
    ]
    return {"@type": "cr:RecordSet", "@id": records.name, "name": records.name, "field": fields}


def _slug(name: str, number: int) -> str:
    """Return a name as an identifier may be: itself, or with the column's number where signs are replaced."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)
    return name if plain == name else f"{plain}-{number}"


def _type(kind: pa.DataType) -> str:
    """Return schema.org's word for a type."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _type(kind.value_type)
    kinds = (
        (pa.types.is_boolean, "sc:Boolean"),
        (pa.types.is_integer, "sc:Integer"),
        (pa.types.is_floating, "sc:Float"),
        (pa.types.is_temporal, "sc:DateTime"),
        (pa.types.is_binary, "sc:ImageObject"),
        (pa.types.is_large_binary, "sc:ImageObject"),
        (pa.types.is_struct, "sc:ImageObject"),
    )
    return next((word for is_kind, word in kinds if is_kind(kind)), "sc:Text")
