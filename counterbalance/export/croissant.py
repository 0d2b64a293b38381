"""The description of an export in Croissant 1.0: its files with digests, and the columns of its rows.

Croissant (MLCommons, http://mlcommons.org/croissant/1.0) is schema.org's ``Dataset`` with what loaders need. Rows are
described where they are Parquet; of other forms the files are. What people should know, limits of perceived labels
above all, is in the description, and at length in ``DATASHEET.md``.
"""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from counterbalance.engine.catalog import meta

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

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
_KINDS: Final = {".parquet": "application/x-parquet", ".tar": "application/x-tar", ".json": "application/json"}
_OTHER: Final = "application/octet-stream"
_LIMITS: Final = (
    "Labels of people are perceived: they say how groups are depicted, never who a person is. "
    "Not for telling anything of a person, for finding people, or for surveillance. See DATASHEET.md."
)


def render(
    facts: ExportFacts,
    folder: Path,
    shards: Sequence[Mapping[str, Any]],
    columns: Mapping[str, pa.DataType],
    licences: Collection[str],
) -> bytes:
    """Return the description as JSON-LD.

    Args:
        facts: What was asked for.
        folder: Where the shards are.
        shards: Name, rows and bytes of each.
        columns: Type of each column as it is stored; bytes, and structs of them, are pictures.
        licences: Of the images, as their sources name them.
    """
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in facts.lake.rstrip("/").rpartition("/")[2]) or "lake"
    files = [_file(folder, str(s["name"])) for s in shards]
    tables = [f for f in files if f["encodingFormat"] == _KINDS[".parquet"]]
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": f"{facts.rows:,} rows exported by counterbalance {version('counterbalance')}. {_LIMITS}",
        "license": sorted(licences) or ["not stated"],
        "url": "https://pypi.org/project/counterbalance/",
        "datePublished": meta.now().strftime("%Y-%m-%d"),
        "version": "1.0.0",
        "citeAs": f"{name}, exported by counterbalance {version('counterbalance')}",
        "rai:dataUseCases": "Measuring and balancing how groups are depicted.",
        "rai:dataLimitations": _LIMITS,
        "distribution": files,
    }
    if tables:
        found["distribution"] = [*files, _file_set(tables)]
        found["recordSet"] = [_records(columns)]
    return orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n"


def _file(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": _KINDS.get(path.suffix, _OTHER),
        "sha256": digest.hexdigest(),
    }


def _file_set(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    folder = str(files[0]["@id"]).rpartition("/")[0]
    return {
        "@type": "cr:FileSet",
        "@id": "rows-files",
        "name": "rows-files",
        "encodingFormat": _KINDS[".parquet"],
        "includes": f"{folder}/*.parquet" if folder else "*.parquet",
    }


def _records(columns: Mapping[str, pa.DataType]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{_slug(name, number)}",
            "name": name,
            "dataType": _type(kind),
            **({"repeated": True} if pa.types.is_list(kind) else {}),
            "source": {
                "fileSet": {"@id": "rows-files"},
                "extract": {"column": name},
                **({"transform": {"jsonPath": "bytes"}} if pa.types.is_struct(kind) else {}),
            },
        }
        for number, (name, kind) in enumerate(columns.items())
    ]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}


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
