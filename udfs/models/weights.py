"""Find a model's weights: a path, or the cache of Hugging Face; the network only when it was allowed.

Weights are ``.safetensors`` files, or files of ``torch.save``. Those hold a pickle, so ``checked`` takes it apart first, with a
disassembler that runs nothing: only where it names nothing but tensors is it given to ``torch.load(weights_only=True)``.
Code that a repository brings along is never run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import pickletools
import re
import threading
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

ALLOW: Final = "COUNTERBALANCE_ALLOW_DOWNLOAD"
"""Environment variable that ``--allow-download`` sets; worker processes inherit it."""
CHECKPOINT: Final = ("*.json", "*.txt", "*.model", "*.jinja", "*.codes", "*.safetensors")
"""What is fetched of a repository of transformers: configuration, vocabulary, weights without pickle."""
_WEIGHTS: Final = frozenset(
    {".safetensors", ".pt", ".pth", ".bin", ".json", ".txt", ".model", ".yaml", ".jinja", ".codes"}
)
_BLOCK: Final = 1 << 22
_SAFE: Final = ".safetensors"
_SAVED: Final = frozenset({".bin", ".pt", ".pth", ".ckpt"})
_LONGEST_HEADER: Final = 100_000_000
"""Bytes of JSON that safetensors allows."""
_TENSORS: Final = re.compile(
    r"collections\.OrderedDict|torch\._utils\._rebuild_(tensor|tensor_v2|parameter|parameter_with_state)|torch\.Size|torch\.device"
    r"|torch\.(\w+Storage|storage\.(Untyped|Typed)Storage|[qu]*int\d+|b?float\d+(_\w+)?|complex\d+|bool|nn\.parameter\.Parameter)"
    r"|(builtins|__builtin__)\.set"
)
"""What a pickle of tensors names."""
_UNTOLD: Final = frozenset({"STACK_GLOBAL", "INST", "OBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4"})
"""Operations that name something without saying it at once; ``torch.save`` writes none."""
_NAMES: Final = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Where transformers looks for weights in a folder, in this order."""
_NETWORK: Final = threading.RLock()
MOVED: Final[Mapping[str, str]] = {
    **{
        f"stabilityai/{name}": f"sd2-community/{name}"
        for name in (
            "stable-diffusion-2",
            "stable-diffusion-2-base",
            "stable-diffusion-2-1",
            "stable-diffusion-2-1-base",
            "stable-diffusion-2-inpainting",
        )
    },
    "runwayml/stable-diffusion-v1-5": "stable-diffusion-v1-5/stable-diffusion-v1-5",
    "runwayml/stable-diffusion-inpainting": "stable-diffusion-v1-5/stable-diffusion-inpainting",
}
"""Repositories that their owners withdrew from the hub, and copies of them there (huggingface/diffusers#12874, #9428)."""


def allowed() -> bool:
    """Return whether models may be fetched over the network: ``COUNTERBALANCE_ALLOW_DOWNLOAD=1``, or ``--allow-download``."""
    return os.environ.get(ALLOW, "") not in {"", "0"}


@contextlib.contextmanager
def as_allowed() -> Iterator[None]:
    """Work around Hugging Face's libraries: no network unless that was allowed.

    They ask ``huggingface_hub.constants.HF_HUB_OFFLINE`` before they connect. ``local_files_only`` alone does not keep them
    from it: to name itself, huggingface_hub fetches a list of programs that may call it, once a day.
    """
    constants: Any = need("huggingface_hub.constants", "models")
    with _NETWORK:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = before or not allowed()
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before


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
    """Return the folder of a model.

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
        with as_allowed():
            found = hub.snapshot_download(
                repository, revision=revision or None, allow_patterns=list(files), local_files_only=not allowed()
            )
    except Exception as error:
        raise _missing(name, error) from error
    return Path(found)


def file(name: str, member: str) -> Path:
    """Return one file of a repository of the hub (``name``), from the cache, or fetched where that is allowed.

    Raises:
        NotFoundError: As ``folder``.
    """
    hub: Any = need("huggingface_hub", "models")
    repository, _, revision = name.partition("@")
    try:
        with as_allowed():
            found = hub.hf_hub_download(repository, member, revision=revision or None, local_files_only=not allowed())
    except Exception as error:
        raise _missing(f"{name}/{member}", error) from error
    return Path(found)


def _missing(name: str, error: Exception) -> NotFoundError:
    copy = MOVED.get(name.partition("@")[0])
    moved = f"{name} was withdrawn from the hub; name its copy, {copy!r}; or " if copy else ""
    if allowed():
        return NotFoundError(
            f"weights of {name!r} cannot be fetched: {first_line(error)[:200]}",
            code="E1103",
            hint=f"{moved}check the name and the network, or give the path of a local copy",
        )
    return NotFoundError(
        f"no weights of {name!r}: no such folder, and they are not in the cache of Hugging Face",
        code="E1102",
        hint=f"{moved}say --allow-download to fetch them once, or give the path of a local copy",
    )


def checked(path: Path, also: re.Pattern[str] | None = None) -> Path:
    """Return the path of a weights file that nothing can come out of but tensors; no library has seen it by then.

    Args:
        path: A file of safetensors, or one that ``torch.save`` wrote (since 1.6: a zip archive).
        also: Names that its pickle may hold besides those of tensors.

    Raises:
        RequestError: It is damaged, is something else, names something else, or is a file of the hub's cache that is not
            what its name says (E3545).
    """
    try:
        _check_content(path)
        if path.suffix == _SAFE:
            _check_header(path)
        else:
            _check_saved(path, also)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise RequestError(
            f"{path} cannot be loaded: {' '.join(str(error).split())[:300]}",
            code="E3545",
            hint="weights are read from .safetensors, or from plain tensors that torch.save wrote (.bin, .pt, .pth, .ckpt); "
            "was it cut off? fetch it again",
        ) from error
    return path


def _check_content(path: Path) -> None:
    """Compare a file of the hub's cache with its name there, which is its SHA-256."""
    named = path.resolve()
    if path.is_symlink() and named.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", named.name):
        status = named.stat()
        if _read(str(named), status.st_size, status.st_mtime_ns) != named.name:
            raise ValueError(f"its content is not what its name in the cache says ({named.name[:12]}…)")


def _check_header(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
    if size < 8 or length > min(_LONGEST_HEADER, size - 8):
        raise ValueError(
            f"its header says {length:,} bytes, the file has {size:,}; at most {_LONGEST_HEADER:,} are read"
        )


def _check_saved(path: Path, also: re.Pattern[str] | None) -> None:
    if path.suffix not in _SAVED:
        raise ValueError(f"a file of type {path.suffix or 'unknown'!r} is never read as weights")
    with path.open("rb") as opened:
        if opened.read(4) != b"PK\3\4":
            raise ValueError("it is not an archive of torch.save")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        pickles = [m for m in members if m.filename.endswith(".pkl")]
        if (
            len(pickles) != 1
            or not pickles[0].filename.endswith("/data.pkl")
            or len({m.filename for m in members}) < len(members)
        ):
            raise ValueError("it is not an archive of torch.save")
        if any(m.compress_type != zipfile.ZIP_STORED for m in members):
            raise ValueError("it is packed, as no archive of torch.save is")
        text = archive.read(pickles[0])
    foreign = sorted(
        n for n in _named_in(text) if not (_TENSORS.fullmatch(n) or (also is not None and also.fullmatch(n)))
    )
    if foreign:
        raise ValueError(f"it would run {', '.join(foreign[:5])}, which is not a part of a tensor")


def _named_in(text: bytes) -> set[str]:
    """Return what a pickle names, as ``module.name``; it is taken apart, and nothing of it is run."""
    found: set[str] = set()
    for operation, argument, _ in pickletools.genops(text):
        if operation.name in _UNTOLD:
            found.add(f"what {operation.name} makes")
        elif operation.name == "GLOBAL":
            found.add(str(argument).replace(" ", "."))
    return found


def pretrained(folder: Path) -> dict[str, Any]:
    """Return what ``from_pretrained`` of transformers is called with, for a folder whose weights were checked.

    Raises:
        RequestError: It holds no weights, or some that are refused (E3545).
    """
    found = next((folder / name for name in _NAMES if (folder / name).is_file()), None)
    if found is None:
        raise RequestError(
            f"{folder} cannot be loaded: it holds neither {_NAMES[0]} nor {_NAMES[2]}",
            code="E3545",
            hint="fetch the repository again, or name the folder that holds config.json and the weights",
        )
    safe = _SAFE in found.name
    for file in _parts(found, safe=safe) if found.suffix == ".json" else [found]:
        checked(file)
    return {"use_safetensors": safe, "weights_only": True, "local_files_only": True, "trust_remote_code": False}


def _parts(index: Path, *, safe: bool) -> list[Path]:
    """Return the files that an index of weights names."""
    try:
        names = sorted({str(n) for n in json.loads(index.read_text("utf-8"))["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{index} cannot be loaded: it is not an index of weights", code="E3545") from error
    odd = [n for n in names if n != Path(n).name or (Path(n).suffix == _SAFE) != safe]
    if odd:
        raise RequestError(f"{index} cannot be loaded: it names {odd[0]!r}", code="E3545")
    return [index.parent / n for n in names]


def digest(path: Path) -> str:
    """Return the hex digest of a weights file, or of everything in a folder that decides results.

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
