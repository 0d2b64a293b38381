"""Where a model's weights come from: a path, or the cache of Hugging Face; the network only when it was allowed.

Nothing here unpickles. Weights are ``.safetensors`` files, or checkpoints that ``torch.load`` reads with
``weights_only=True``; code that a repository brings along is never run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

ALLOW: Final = "COUNTERBALANCE_ALLOW_DOWNLOAD"
"""Environment variable that ``--allow-download`` sets; worker processes inherit it."""
CHECKPOINT: Final = ("*.json", "*.txt", "*.model", "*.jinja", "*.codes", "*.safetensors")
"""What is fetched of a repository of transformers: configuration, vocabulary, weights without pickle."""
_WEIGHTS: Final = frozenset(
    {".safetensors", ".pt", ".pth", ".bin", ".json", ".txt", ".model", ".yaml", ".jinja", ".codes"}
)
_BLOCK: Final = 1 << 22


def allowed() -> bool:
    """Whether models may be fetched over the network: ``COUNTERBALANCE_ALLOW_DOWNLOAD=1``, or ``--allow-download``."""
    return os.environ.get(ALLOW, "") not in {"", "0"}


def need(module: str, extra: str) -> ModuleType:
    """Import a library of an optional extra.

    Raises:
        RequestError: It is not installed (E3501); the hint is the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RequestError(
            f"{module} cannot be imported: {error}",
            code="E3501",
            hint=f"pip install 'counterbalance[{extra}]'",
        ) from error


def folder(name: str, files: Sequence[str] = CHECKPOINT) -> Path:
    """The folder of a model.

    Args:
        name: A local folder, or the id of a repository of the hub such as ``"sentence-transformers/all-MiniLM-L6-v2"``,
            optionally with ``@revision``.
        files: Patterns of the files that are needed, should it be fetched.

    Raises:
        NotFoundError: It is neither a folder nor in the cache, and may not be fetched (E1102), or cannot be (E1103).
    """
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    hub: Any = need("huggingface_hub", "models")
    repository, _, revision = name.partition("@")
    try:
        found = hub.snapshot_download(
            repository, revision=revision or None, allow_patterns=list(files), local_files_only=not allowed()
        )
    except Exception as error:
        raise _missing(name, error) from error
    return Path(found)


def file(name: str, member: str) -> Path:
    """One file of a repository of the hub (``name``), from the cache, or fetched where that is allowed.

    Raises:
        NotFoundError: As ``folder``.
    """
    hub: Any = need("huggingface_hub", "models")
    repository, _, revision = name.partition("@")
    try:
        found = hub.hf_hub_download(repository, member, revision=revision or None, local_files_only=not allowed())
    except Exception as error:
        raise _missing(f"{name}/{member}", error) from error
    return Path(found)


def _missing(name: str, error: Exception) -> NotFoundError:
    if allowed():
        first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        return NotFoundError(
            f"weights of {name!r} cannot be fetched: {first}",
            code="E1103",
            hint="check the name and the network, or give the path of a local copy",
        )
    return NotFoundError(
        f"no weights of {name!r}: no such folder, and they are not in the cache of Hugging Face",
        code="E1102",
        hint="say --allow-download to fetch them once, or give the path of a local copy",
    )


def digest(path: Path) -> str:
    """Hex digest of a weights file, or of everything in a folder that decides results.

    Files in the hub's cache are named by their content, which is taken as it stands. Others are read once, and again when
    their size or time has changed.

    Args:
        path: A file or a folder.

    Returns:
        The first 16 hex digits of a SHA-256.
    """
    parts = {str(name): _of_file(found) for name, found in sorted(_files(path))}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _files(path: Path) -> Iterator[tuple[Path, Path]]:
    if path.is_file():
        yield Path(), path
        return
    for found in path.rglob("*"):
        if found.is_file() and found.suffix in _WEIGHTS:
            yield found.relative_to(path), found


def _of_file(path: Path) -> str:
    real = path.resolve()
    if real.parent.name == "blobs" and path.is_symlink():
        return real.name
    status = real.stat()
    return _read(str(real), status.st_size, status.st_mtime_ns)


@cache
def _read(path: str, size: int, time: int) -> str:
    del size, time
    sha = hashlib.sha256()
    with Path(path).open("rb") as opened:
        while block := opened.read(_BLOCK):
            sha.update(block)
    return sha.hexdigest()
