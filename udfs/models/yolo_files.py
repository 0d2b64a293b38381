"""Find a YOLO detector and read its file, without running anything that the file brings along.

A checkpoint of ultralytics is a pickled module. Here ``torch.load(weights_only=True)`` reads it with an empty stand-in for
every class of ultralytics and of ``torch.nn``: no code of theirs runs, a file that names anything else is refused, and what
is taken out are numbers, the plan of the network (its yaml) and the names of its classes. The network is then built anew.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import FunctionError, NotFoundError
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAME: Final = re.compile(r"(yolov?\d+)[a-z](-seg)?")
_STAND_INS: Final = re.compile(
    r"(ultralytics\.(nn|utils|yolo)|torch\.nn\.modules|numpy\.dtypes)\.[\w.]+"
    r"|numpy\.(dtype|(_?core\.multiarray)\.scalar)|pathlib\.(_local\.)?(Posix|Windows)Path|builtins\.getattr"
)
_DEEPEST: Final = 64
_reading = threading.Lock()  # torch keeps one allow-list a process


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a detector's file holds.

    Args:
        plan: The network as ultralytics' yaml says it: ``nc``, ``backbone``, ``head`` …
        names: Name of each class, or none.
        tensors: Parameters and buffers by name.
    """

    plan: dict[str, Any]
    names: tuple[str, ...] | None
    tensors: Mapping[str, Any]


def locate(model: str) -> Path:
    """Return the file of a detector.

    Args:
        model: A local ``.pt`` file; a ``.safetensors`` file of parameters, with the network's ``.yaml`` of the same name
            beside it; or a name such as ``"yolo11l"`` or ``"yolo11l-seg"``: looked for in the folder of weights of
            ultralytics' own settings, then in the cache of Hugging Face, and fetched only where that is allowed.

    Raises:
        NotFoundError: No such file or name (E1111); or as ``weights.file``.
    """
    local = Path(model).expanduser()
    if local.suffix in {".pt", ".safetensors"} and local.is_file():
        return local
    stem = model.removesuffix(".pt")
    known = _NAME.fullmatch(stem)
    if known is None:
        raise NotFoundError(
            f"no detector {model!r}",
            code="E1111",
            hint="a .pt file, a .safetensors file with its .yaml beside it, or a name such as yolo11l or yolo11l-seg",
        )
    own = _weights_folder() / f"{stem}.pt"
    if own.is_file():
        return own
    need("huggingface_hub", "detect")  # the extra that brings all a detector needs
    return weights.file(f"Ultralytics/{known[1].replace('yolo', 'YOLO')}", f"{stem}.pt")


def digest(model: str) -> str:
    """Return the digest of a detector's file, and of its yaml where it has one; imports no torch."""
    path = locate(model)
    found = weights.digest(path)
    return found if path.suffix == ".pt" else f"{found}-{weights.digest(_yaml_of(path))}"


def read(path: Path) -> Checkpoint:
    """Return what a detector's file holds.

    Raises:
        FunctionError: It cannot be read, or holds what a detector does not (E8112).
    """
    try:
        return _read_state(path) if path.suffix == ".safetensors" else _read_checkpoint(path)
    except FunctionError:
        raise
    except Exception as error:  # files that nobody has checked raise whatever they like
        raise _unreadable(path, str(error).strip().split("\n")[0][:200] or type(error).__name__) from error


def _weights_folder() -> Path:
    """Return ``weights_dir`` of the settings that ultralytics keeps for this user; a folder that is not there without any."""
    config = os.environ.get("YOLO_CONFIG_DIR") or os.environ.get("XDG_CONFIG_HOME")
    default = Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".config")
    try:
        text = ((Path(config) if config else default) / "Ultralytics" / "settings.json").read_text(encoding="utf-8")
        return Path(json.loads(text)["weights_dir"]).expanduser()
    except (OSError, ValueError, KeyError, TypeError):
        return Path("weights")


def _unreadable(path: Path, reason: str) -> FunctionError:
    return FunctionError(
        f"{path} cannot be loaded as a detector: {reason}",
        code="E8112",
        hint="a checkpoint that ultralytics saved, or its parameters as .safetensors with the .yaml beside it",
    )


def _yaml_of(path: Path) -> Path:
    plan = path.with_suffix(".yaml")
    if not plan.is_file():
        raise _unreadable(path, f"there is no {plan.name} beside it")
    return plan


def _read_state(path: Path) -> Checkpoint:
    yaml: Any = need("yaml", "detect")
    safetensors: Any = need("safetensors.torch", "detect")
    with _yaml_of(path).open(encoding="utf-8") as opened:
        plan = yaml.safe_load(opened)
    size = re.search(r"yolov?\d+([a-z])", path.stem)
    if "scales" in plan and not plan.get("scale") and size:
        plan["scale"] = size[1]
    return Checkpoint(plan, _names(plan.pop("names", None)), safetensors.load_file(str(weights.checked(path))))


class _StandIn:
    """Takes the place of an object of a checkpoint: keeps what it holds, does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> _StandIn:  # noqa: PYI034 - as pickle calls it
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


def _read_checkpoint(path: Path) -> Checkpoint:
    torch: Any = need("torch", "detect")
    weights.checked(path, also=_STAND_INS)
    named = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    foreign = sorted(name for name in named if not _STAND_INS.fullmatch(name))
    if foreign:
        raise _unreadable(path, f"it would run {', '.join(foreign[:5])}, which is not a part of a detector")
    with _reading, torch.serialization.safe_globals([(_StandIn, name) for name in named]):
        held = torch.load(str(path), map_location="cpu", weights_only=True)
    module = (held.get("ema") or held.get("model")) if isinstance(held, dict) else None
    if not isinstance(module, _StandIn) or not isinstance(vars(module).get("yaml"), dict):
        raise _unreadable(path, "it holds no network of ultralytics")
    return Checkpoint(vars(module)["yaml"], _names(vars(module).get("names")), dict(_tensors(module, torch)))


def _tensors(module: Any, torch: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the parameters and buffers of a module and of those in it, by the names that ``state_dict`` gives them."""
    if depth > _DEEPEST:
        raise ValueError("modules are nested too deeply")
    own = vars(module)
    passing = own.get("_non_persistent_buffers_set") or ()
    for name, value in [*own["_parameters"].items(), *own["_buffers"].items()]:
        if isinstance(value, torch.Tensor) and name not in passing:
            yield prefix + name, value
    for name, inner in own["_modules"].items():
        if inner is not None:
            yield from _tensors(inner, torch, f"{prefix}{name}.", depth + 1)


def _names(names: Any) -> tuple[str, ...] | None:
    """Return the names of classes as a tuple: ultralytics has them by number, or as a list."""
    if isinstance(names, dict):
        names = [names[number] for number in range(len(names))]
    return tuple(str(name) for name in names) if names else None
