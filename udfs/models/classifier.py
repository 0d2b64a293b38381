"""A classifier of pictures: the vision tower of an open_clip model with a linear head, and the folder that holds one.

A folder holds ``model.safetensors`` (``tower.*``, ``head.weight``, ``head.bias``), ``config.json`` (architecture, classes in
the order of the logits, preprocessing) and ``README.md``. Folders are not trusted: nothing in one is run or unpickled, and
names of models or sizes that would reach out or fill the memory are refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError
from counterbalance.udfs.models import clip_names, weights
from counterbalance.udfs.models.clip_pictures import Preparation

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG: Final = "config.json"
MODEL: Final = "model.safetensors"
CARD: Final = "README.md"
FORMAT: Final = "counterbalance classifier 1"
_VISUAL: Final = "visual."
_LARGEST: Final = 65_536
_WIDEST: Final = 2048
_LONGEST: Final = 512
_TEXT: Final = {"context_length": 1, "vocab_size": 2, "width": 8, "heads": 1, "layers": 1}
"""The smallest text tower: open_clip's public class makes both, and only the vision tower is kept."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A vision tower, as open_clip describes it.

    Args:
        name: The model it began as.
        embed_dim: Length of what it gives out.
        vision: open_clip's ``vision_cfg``.
        quick_gelu: Whether it uses OpenAI's approximation of GELU.
    """

    name: str
    embed_dim: int
    vision: Mapping[str, Any]
    quick_gelu: bool = False

    def build(self) -> Any:
        """Return the tower with random weights, float32, on the CPU."""
        open_clip: Any = weights.need("open_clip", "models")
        config = {**self.vision, "timm_model_pretrained": False, "output_tokens": False}
        return open_clip.CLIP(self.embed_dim, config, dict(_TEXT), quick_gelu=self.quick_gelu).visual

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        named = {"name": self.name, "embed_dim": self.embed_dim, "quick_gelu": self.quick_gelu}
        return {**named, "vision_cfg": dict(self.vision)}


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a training begins with: a pretrained tower.

    Args:
        architecture: Its shape.
        preparation: Its input.
        file: Its weights, of a whole open_clip model.
        digest: Of the weights.
    """

    architecture: Architecture
    preparation: Preparation
    file: Path
    digest: str

    def tower(self) -> Any:
        """Return the tower with these weights; the text tower's are left.

        Raises:
            RequestError: They do not fit.
        """
        factory: Any = weights.need("open_clip.factory", "models")
        try:
            tower = self.architecture.build()
            stored = factory.load_state_dict(str(weights.checked(self.file)), device="cpu", weights_only=True)
            tower.load_state_dict({k.removeprefix(_VISUAL): v for k, v in stored.items() if k.startswith(_VISUAL)})
        except CounterbalanceError:
            raise
        except Exception as error:  # what is wrong with a file, each reader says in its own way
            raise _damaged(self.file, error) from error
        return tower.float()


def beginning(model: str) -> Beginning:
    """Find a pretrained model.

    Args:
        model: As ``clip_names.named`` takes it: open_clip's ``name/pretrained``, ``hf-hub:owner/repository``, or a folder with
            ``open_clip_config.json`` and weights.

    Raises:
        NotFoundError: There is none of that name, or it is not in the cache and may not be fetched.
        RequestError: The folder does not hold what it should.
    """
    found = clip_names.named(model)
    file = found.checkpoint()
    preprocessing = _preprocessing(found, model)
    quick = bool(found.config.get("quick_gelu") or preprocessing.get("quick_gelu"))
    shape = architecture({**found.config, "name": model, "quick_gelu": quick}, model)
    transform: Any = weights.need("open_clip.transform", "models")
    merged = transform.merge_preprocess_dict(transform.PreprocessCfg(), preprocessing)
    prepared = preparation({**merged, "size": shape.vision.get("image_size", 224)}, model)
    return Beginning(shape, prepared, file, weights.digest(file))


def _preprocessing(found: clip_names.Named, model: str) -> dict[str, Any]:
    """Return what is known of the input of a model beside its architecture."""
    if found.tag:
        open_clip: Any = weights.need("open_clip", "models")
        name, _, tag = model.partition("/")
        return dict(open_clip.get_pretrained_cfg(name, tag))
    if found.name.startswith("hf-hub:"):
        return dict(_json(weights.file(found.place, clip_names.CONFIG)).get("preprocess_cfg") or {})
    if found.name.startswith("local-dir:"):
        return dict(_json(Path(found.place) / clip_names.CONFIG).get("preprocess_cfg") or {})
    return {}


def architecture(config: Any, where: str) -> Architecture:
    """Return the architecture that a file describes, checked.

    Raises:
        RequestError: It is none, names a model to fetch, or is too large to be one.
    """
    vision = config.get("vision_cfg") if isinstance(config, dict) else None
    if not isinstance(vision, dict) or not isinstance(config.get("embed_dim"), int):
        raise _unfit(where, "embed_dim and vision_cfg describe no vision tower")
    timm = vision.get("timm_model_name")
    if timm is not None and not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)?", str(timm)):
        raise _unfit(where, f"{str(timm)[:60]!r} is not a name of a timm model")
    _bounded({"embed_dim": config["embed_dim"], **vision}, where)
    name = str(config.get("name", ""))
    return Architecture(name, config["embed_dim"], vision, quick_gelu=bool(config.get("quick_gelu", False)))


def preparation(config: Any, where: str) -> Preparation:
    """Return the preparation that a file describes, checked.

    Raises:
        RequestError: It is none.
    """
    try:
        found = Preparation.of({"interpolation": "bicubic", "resize_mode": "shortest", "fill_color": 0, **config})
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _unfit(where, f"no preprocessing: {type(error).__name__} {error}") from error
    fits = (
        len(found.mean) == len(found.std) == 3
        and all(map(math.isfinite, (*found.mean, *found.std)))
        and all(found.std)
        and 1 <= found.height <= _WIDEST
        and 1 <= found.width <= _WIDEST
        and found.interpolation in {"bicubic", "bilinear"}
        and found.resize_mode in {"shortest", "longest", "squash"}
        and isinstance(found.fill_color, int)
    )
    if not fits:
        raise _unfit(where, f"no preprocessing that can be done: {found}")
    return found


def described(found: Preparation) -> dict[str, Any]:
    """Return a preparation as JSON keeps it."""
    rest = {n: getattr(found, n) for n in ("interpolation", "resize_mode", "fill_color")}
    return {"size": [found.height, found.width], "mean": list(found.mean), "std": list(found.std), **rest}


def _bounded(values: Mapping[str, Any], where: str) -> None:
    """Refuse sizes that no model has."""
    for name, value in values.items():
        for number in value if isinstance(value, list | tuple) else [value]:
            most = _LONGEST if name == "layers" else _LARGEST
            if isinstance(number, int | float) and not 0 <= number <= most:
                raise _unfit(where, f"{name} is {number}; at most {most} is taken")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A trained classifier in its folder.

    Args:
        folder: Where it lies.
        attribute: What it tells.
        classes: In the order of the logits.
        architecture: Of its tower.
        preparation: Of its input.
        config: The whole of ``config.json``.
    """

    folder: Path
    attribute: str
    classes: tuple[str, ...]
    architecture: Architecture
    preparation: Preparation
    config: Mapping[str, Any]

    def load(self, device: str) -> Any:
        """Return the model with its weights on a device, ready to be asked: float32 pixels in, logits out.

        Raises:
            RequestError: The weights are damaged, or do not fit the architecture.
        """
        files: Any = weights.need("safetensors.torch", "models")
        file = self.folder / MODEL
        try:
            model = assembled(self.architecture.build(), self.architecture.embed_dim, len(self.classes))
            model.load_state_dict(files.load_file(file))
        except CounterbalanceError:
            raise
        except Exception as error:  # what is wrong with a file, each reader says in its own way
            raise _damaged(file, error) from error
        return model.to(device).eval()


def assembled(tower: Any, width: int, classes: int) -> Any:
    """Return a tower with a fresh linear head."""
    from collections import OrderedDict

    torch: Any = weights.need("torch", "models")
    return torch.nn.Sequential(OrderedDict(tower=tower, head=torch.nn.Linear(width, classes)))


def checkpoint(folder: str | Path) -> Checkpoint:
    """Return the classifier of a folder; its weights are read by ``load``. Imports no model library.

    Raises:
        NotFoundError: There is no such folder.
        RequestError: It holds no classifier.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise NotFoundError(
            f"no folder {str(folder)!r} with a classifier",
            code="E1155",
            hint="counterbalance train classifier LAKE … --output FOLDER makes one",
        )
    where = str(path / CONFIG)
    config = _json(path / CONFIG)
    classes = config.get("classes")
    if not isinstance(classes, list) or not all(isinstance(c, str) for c in classes):
        classes = []
    named = 1 < len(classes) == len(set(classes))
    if config.get("format") != FORMAT or not named or not isinstance(config.get("attribute"), str):
        raise _unfit(where, "no classifier of this package")
    if not (path / MODEL).is_file():
        raise _unfit(where, f"{MODEL} is missing beside it")
    shape = architecture(config.get("architecture"), where)
    return Checkpoint(
        path, config["attribute"], tuple(classes), shape, preparation(config.get("preprocessing"), where), config
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _unfit(str(path), f"{type(error).__name__}: {str(error)[:100]}") from error
    if not isinstance(config, dict):
        raise _unfit(str(path), "no JSON object")
    return config


def _unfit(where: str, why: str) -> RequestError:
    return RequestError(
        f"{where} cannot be used: {why}", code="E3556", hint="give the folder of a model, as it was saved"
    )


def _damaged(file: Path, error: Exception) -> RequestError:
    reason = " ".join(str(error).split())[:200]
    return RequestError(
        f"{file} does not hold the weights of this model: {reason}",
        code="E3556",
        hint="the file is damaged, or belongs to another architecture; fetch or train it again",
    )
