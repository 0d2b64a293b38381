"""Find the CLIP model of a name: its configuration and its weights, without importing open_clip or torch.

open_clip's architectures are JSON files beside its modules; which weights there are is read from the text of its
``pretrained.py``, whose import would bring torch along. Planning a refresh needs both, and takes milliseconds this way.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.udfs.models import weights

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG: Final = "open_clip_config.json"
_HUB: Final = "hf-hub:"
_LOCAL: Final = "local-dir:"
_DEFAULT: Final = "open_clip_pytorch_model.bin"
_SAFE: Final = "open_clip_model.safetensors"
_PREFERRED: Final = (_SAFE, "open_clip_pytorch_model.safetensors", "model.safetensors", _DEFAULT)
_SUFFIXES: Final = (".safetensors", ".bin", ".pth", ".pt")
_SHOWN: Final = 8
_FORMS: Final = (
    f"name/pretrained as open_clip lists them, hf-hub:owner/repository, or a folder with {CONFIG}; "
    "embed_image takes vision models of transformers, too"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A model that is found.

    Args:
        name: What open_clip calls it: a name of its own, ``hf-hub:…`` or ``local-dir:…``.
        config: Its architecture (``model_cfg``).
        tag: What open_clip knows of the weights that were named: preprocessing, QuickGELU, where they are.
        place: A folder, a file or a repository of the hub.
    """

    name: str
    config: Mapping[str, Any]
    tag: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    @property
    def width(self) -> int:
        """Return the length of its vectors."""
        return int(self.config["embed_dim"])

    def checkpoint(self) -> Path:
        """Return the file of its weights.

        Raises:
            NotFoundError: It is not there, and may not be fetched or cannot be.
            RequestError: A folder holds none, or several of which none has a name that says which to take.
        """
        if self.name.startswith(_LOCAL):
            return _in_folder(Path(self.place))
        if not self.name.startswith(_HUB) and not self.tag:
            return Path(self.place)
        repository, member = self.place, ""
        if self.tag:
            repository, _, member = self.place.rpartition("/")
        safe = _SAFE if not member else str(Path(member).with_suffix(".safetensors"))
        return _first(repository, dict.fromkeys([safe, member or _DEFAULT]))

    def digest(self) -> str:
        """Return the digest of all that decides its results."""
        if self.name.startswith(_LOCAL):
            return weights.digest(Path(self.place))
        found = weights.digest(self.checkpoint())
        return found if not self.name.startswith(_HUB) else weights.digest(weights.file(self.place, CONFIG)) + found


def named(model: str) -> Named:
    """Find a model.

    Args:
        model: ``"ViT-B-32/laion2b_s34b_b79k"``: an architecture of open_clip, and either one of its pretrained tags or the path
            of a checkpoint (``"ViT-B-32//data/mine.safetensors"``); ``"hf-hub:owner/repository"``; or a folder with
            ``open_clip_config.json`` and the weights.

    Raises:
        NotFoundError: There is no such model, tag, folder or file (E1120), or it is not in the cache (E1102).
        RequestError: A configuration is damaged (E3520).

    Example:
        >>> named("ViT-B-32/laion2b_s34b_b79k").width  # doctest: +SKIP
        512
    """
    if model.startswith(_HUB):
        repository = model.removeprefix(_HUB)
        return Named(model, _config(weights.file(repository, CONFIG)), place=repository)
    name, _, rest = model.partition("/")
    known = architectures()
    local = Path(model.removeprefix(_LOCAL)).expanduser()
    if (
        model.startswith((_LOCAL, "/", ".", "~"))
        or (local / CONFIG).is_file()
        or (name and name not in known and local.exists())
    ):
        return Named(f"{_LOCAL}{local}", _config(local / CONFIG), place=str(local))
    if name not in known:
        raise NotFoundError(f"open_clip has no model {name!r}{did_you_mean(name, known)}", code="E1120", hint=_FORMS)
    config = json.loads(known[name].read_text("utf-8"))
    tags = registry().get(name, {})
    tag = tags.get(rest.lower().replace("-", "_"))
    if tag is not None:
        return Named(name, config, tag, str(tag["hf_hub"]))
    if rest and Path(rest).expanduser().is_file():
        return Named(name, config, place=str(Path(rest).expanduser()))
    what = f"{model!r} names no weights" if not rest else f"{name} has no weights {rest!r}{did_you_mean(rest, tags)}"
    listed = ", ".join([*list(tags)[:_SHOWN], *(["…"] if len(tags) > _SHOWN else [])])
    hint = f"weights of {name}: {listed}" if tags else f"open_clip has none; give a checkpoint: {name}/PATH"
    raise NotFoundError(what, code="E1120", hint=hint)


@cache
def architectures() -> dict[str, Path]:
    """Return the configuration file of every architecture of open_clip, by name.

    Raises:
        RequestError: open_clip is not installed.
    """
    return {f.stem: f for f in sorted((_library() / "model_configs").glob("*.json"))}


@cache
def registry() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what open_clip's ``pretrained.py`` says of weights, by architecture and tag: ``hf_hub`` and ``quick_gelu``."""
    known: dict[str, Any] = {}
    for node in ast.parse((_library() / "pretrained.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _value(node.value, known)
    found: dict[str, dict[str, dict[str, Any]]] = known.get("_PRETRAINED") or {}
    quick = {
        f"{name}-quickgelu": {t: c for t, c in tags.items() if c.get("quick_gelu")} for name, tags in found.items()
    }
    return found | {name: tags for name, tags in quick.items() if tags}


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return constants, dictionaries, and calls as what they are given by name; ``None`` for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Call):
        return {k.arg: _value(k.value, known) for k in node.keywords if k.arg is not None}
    if isinstance(node, ast.Dict):
        return {
            _value(k, known): _value(v, known) for k, v in zip(node.keys, node.values, strict=True) if k is not None
        }
    return None


def _library() -> Path:
    found = find_spec("open_clip")
    if found is None or not found.submodule_search_locations:
        return Path(str(weights.need("open_clip", "models").__file__)).parent
    return Path(found.submodule_search_locations[0])


def _config(path: Path) -> Mapping[str, Any]:
    """Return ``model_cfg`` of a configuration file."""
    if not path.is_file():
        raise NotFoundError(f"no model at {path.parent}: it has no {CONFIG}", code="E1120", hint=_FORMS)
    try:
        found = json.loads(path.read_text("utf-8"))["model_cfg"]
        if int(found["embed_dim"]) > 0 and found["vision_cfg"] is not None and found["text_cfg"] is not None:
            return dict(found)
        reason = "embed_dim, vision_cfg and text_cfg must be there"
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise RequestError(f"{path} describes no open_clip model ({reason})", code="E3520")


def _in_folder(folder: Path) -> Path:
    """Return the checkpoint of a folder: by open_clip's own names, else the only one of the safest kind."""
    files = sorted(f for f in folder.iterdir() if f.suffix in _SUFFIXES)
    for name in _PREFERRED:
        if folder / name in files:
            return folder / name
    for suffix in _SUFFIXES:
        found = [f for f in files if f.suffix == suffix]
        if len(found) == 1:
            return found[0]
        if found:
            raise RequestError(
                f"{folder} holds several weights: {', '.join(f.name for f in found)}",
                code="E3521",
                hint=f"name the one to use {_SAFE}",
            )
    raise NotFoundError(f"{folder} holds no weights", code="E1121", hint=f"it needs {_SAFE}")


def _first(repository: str, members: Mapping[str, None]) -> Path:
    """Return the first of these files of a repository that can be had."""
    *others, last = members
    for member in others:
        try:
            return weights.file(repository, member)
        except NotFoundError:
            continue
    return weights.file(repository, last)
