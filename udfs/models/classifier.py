"""A classifier of pictures: the vision tower of an open_clip model with a linear head, and the folder that holds one.

A folder holds ``model.safetensors`` (``tower.*``, ``head.weight``, ``head.bias``), ``config.json`` (architecture, classes in
the order of the logits, preprocessing) and ``README.md``. Folders are not trusted: nothing in one is run or unpickled, and
names of models or sizes that would reach out or fill the memory are refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.udfs.models import weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

CONFIG: Final = "config.json"
MODEL: Final = "model.safetensors"
CARD: Final = "README.md"
FORMAT: Final = "counterbalance classifier 1"
_OPEN_CLIP: Final = "open_clip_config.json"
_VISUAL: Final = "visual."
_FILES: Final = (_OPEN_CLIP, "open_clip_model.safetensors", "model.safetensors")
_LARGEST: Final = 65_536
_LONGEST: Final = 512
_TEXT: Final = {"context_length": 1, "vocab_size": 2, "width": 8, "heads": 1, "layers": 1}
"""The smallest text tower: open_clip's public class makes both, and only the vision tower is kept."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """How a picture becomes the model's input: open_clip's evaluation transform, up to eight-bit pixels.

    Args:
        size: Height and width in pixels.
        mean: By channel, of values in [0, 1].
        std: By channel.
        interpolation: ``"bicubic"`` or ``"bilinear"``.
        resize_mode: ``"shortest"`` (then cut), ``"longest"`` (then padded) or ``"squash"``.
        fill_color: Of the padding.
    """

    size: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    interpolation: str = "bicubic"
    resize_mode: str = "shortest"
    fill_color: int = 0

    def __call__(self, picture: Image) -> NDArray[Any]:
        """Pixels, uint8 (height, width, 3)."""
        import numpy as np

        for step in self.transform().transforms[:-2]:
            picture = step(picture)
        return np.asarray(picture, np.uint8)

    def transform(self) -> Any:
        """open_clip's whole transform, the last two steps of which make a tensor and normalise it."""
        open_clip: Any = weights.need("open_clip", "models")
        return open_clip.image_transform(
            self.size,
            is_train=False,
            mean=self.mean,
            std=self.std,
            resize_mode=self.resize_mode,
            interpolation=self.interpolation,
            fill_color=self.fill_color,
        )

    def tensor(self, pixels: NDArray[Any], device: str) -> Any:
        """The model's input from pixels, float32 (rows, 3, height, width), as the last two steps would make it."""
        torch: Any = weights.need("torch", "models")
        values = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous().to(torch.float32).div_(255)
        mean, std = (torch.tensor(v, device=device).view(1, 3, 1, 1) for v in (self.mean, self.std))
        return values.sub_(mean).div_(std)

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {n: list(v) if isinstance(v, tuple) else v for n in self.__slots__ for v in [getattr(self, n)]}


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
        """The tower with random weights, float32, on the CPU."""
        open_clip: Any = weights.need("open_clip", "models")
        config = {**self.vision, "timm_model_pretrained": False, "output_tokens": False}
        return open_clip.CLIP(self.embed_dim, config, dict(_TEXT), quick_gelu=self.quick_gelu).visual

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
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
        """The tower with these weights; the text tower's are not read.

        Raises:
            RequestError: They do not fit.
        """
        safetensors: Any = weights.need("safetensors", "models")
        tower = self.architecture.build()
        try:
            with safetensors.safe_open(self.file, "pt") as stored:
                state = {k.removeprefix(_VISUAL): stored.get_tensor(k) for k in stored.keys() if k.startswith(_VISUAL)}  # noqa: SIM118 - no mapping
            tower.load_state_dict(state)
        except (RuntimeError, OSError, safetensors.SafetensorError) as error:
            raise _damaged(self.file, error) from error
        return tower.float()


def beginning(model: str) -> Beginning:
    """Find a pretrained model.

    Args:
        model: open_clip's ``name/pretrained``, ``hf-hub:owner/repository``, or a folder with ``open_clip_config.json`` and one
            ``.safetensors`` file.

    Raises:
        NotFoundError: There is none of that name, or it is not in the cache and may not be fetched.
        RequestError: The folder does not hold what it should.
    """
    local = Path(model).expanduser()
    if local.is_dir() or model.startswith("hf-hub:"):
        folder = local if local.is_dir() else weights.folder(model.removeprefix("hf-hub:"), _FILES)
        config = _json(folder / _OPEN_CLIP)
        return _begun(model, folder, config.get("model_cfg"), config.get("preprocess_cfg") or {})
    open_clip: Any = weights.need("open_clip", "models")
    name, _, tag = model.partition("/")
    known = ["/".join(pair) for pair in open_clip.list_pretrained()]
    if model not in known:
        raise NotFoundError(
            f"no model {model!r}{did_you_mean(model, known)}",
            code="E8157",
            hint="open_clip's name/pretrained, hf-hub:owner/repository, or a folder with open_clip_config.json",
        )
    pretrained = open_clip.get_pretrained_cfg(name, tag)
    repository = str(pretrained.get("hf_hub") or model).strip("/")
    return _begun(model, weights.folder(repository, _FILES), open_clip.get_model_config(name), pretrained)


def _begun(model: str, folder: Path, config: Any, overlay: Mapping[str, Any]) -> Beginning:
    """The parts of a model in a folder."""
    files = sorted(folder.glob("*.safetensors"))
    found = next((f for f in files if f.name in _FILES), files[0] if files else None)
    if found is None:
        raise RequestError(
            f"{folder} holds no .safetensors file",
            code="E8156",
            hint="weights in other formats are not read: save them with safetensors.torch.save_file",
        )
    config = config if isinstance(config, dict) else {}
    shape = architecture(
        {**config, "name": model, "vision_cfg": config.get("vision_cfg")},
        str(folder / _OPEN_CLIP),
    )
    return Beginning(shape, _preparation_of(shape, overlay, str(folder)), found, weights.digest(found))


def _preparation_of(shape: Architecture, overlay: Mapping[str, Any], where: str) -> Preparation:
    transform: Any = weights.need("open_clip.transform", "models")
    merged = transform.merge_preprocess_dict(transform.PreprocessCfg(), dict(overlay))
    side = shape.vision.get("image_size", 224)
    return preparation({**merged, "size": side}, where)


def architecture(config: Any, where: str) -> Architecture:
    """The architecture that a file describes, checked.

    Raises:
        RequestError: It is none, names a model to fetch, or is too large to be one.
    """
    vision = config.get("vision_cfg") if isinstance(config, dict) else None
    if not isinstance(vision, dict) or not isinstance(config.get("embed_dim"), int):
        raise _unfit(where, "embed_dim and vision_cfg describe no vision tower")
    timm = vision.get("timm_model_name")
    if timm is not None and not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)?", str(timm)):
        raise _unfit(where, f"{str(timm)[:60]!r} is no name of a timm model")
    _bounded({"embed_dim": config["embed_dim"], **vision}, where)
    name = str(config.get("name", ""))
    return Architecture(name, config["embed_dim"], vision, quick_gelu=bool(config.get("quick_gelu", False)))


def preparation(config: Any, where: str) -> Preparation:
    """The preparation that a file describes, checked.

    Raises:
        RequestError: It is none.
    """
    try:
        size = config["size"]
        high, wide = size if isinstance(size, list | tuple) else (size, size)
        mean, std = (tuple(float(v) for v in config[n]) for n in ("mean", "std"))
        found = Preparation(
            (int(high), int(wide)),
            mean,
            std,
            str(config.get("interpolation") or "bicubic"),
            str(config.get("resize_mode") or "shortest"),
            int(config.get("fill_color") or 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _unfit(where, f"no preprocessing: {type(error).__name__} {error}") from error
    fits = (
        len(mean) == len(std) == 3
        and all(1 <= side <= 2048 for side in found.size)
        and all(std)
        and found.interpolation in {"bicubic", "bilinear"}
        and found.resize_mode in {"shortest", "longest", "squash"}
    )
    if not fits:
        raise _unfit(where, f"no preprocessing that can be done: {found}")
    return found


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
        """The model with its weights on a device, ready to be asked: float32 pixels in, logits out.

        Raises:
            RequestError: The weights are damaged, or do not fit the architecture.
        """
        torch_files: Any = weights.need("safetensors.torch", "models")
        safetensors: Any = weights.need("safetensors", "models")
        file = self.folder / MODEL
        try:
            model = assembled(self.architecture.build(), self.architecture.embed_dim, len(self.classes))
            model.load_state_dict(torch_files.load_file(file))
        except (
            RuntimeError,
            OSError,
            TypeError,
            ValueError,
            AssertionError,
            AttributeError,
            ZeroDivisionError,
            safetensors.SafetensorError,
        ) as error:
            raise _damaged(file, error) from error
        return model.to(device).eval()


def assembled(tower: Any, width: int, classes: int) -> Any:
    """A tower with a fresh linear head."""
    from collections import OrderedDict

    torch: Any = weights.need("torch", "models")
    return torch.nn.Sequential(OrderedDict(tower=tower, head=torch.nn.Linear(width, classes)))


def checkpoint(folder: str | Path) -> Checkpoint:
    """The classifier of a folder; its weights are read by ``load``. Imports no model library.

    Raises:
        NotFoundError: There is no such folder.
        RequestError: It holds no classifier.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise NotFoundError(
            f"no folder {str(folder)!r} with a classifier",
            code="E8155",
            hint="counterbalance train classifier LAKE … --output FOLDER makes one",
        )
    where = str(path / CONFIG)
    config = _json(path / CONFIG)
    classes = config.get("classes")
    named = isinstance(classes, list) and all(isinstance(c, str) for c in classes) and len(set(classes)) > 1
    named = named and len(set(classes)) == len(classes)
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
    return RequestError(f"{where} cannot be used: {why}", code="E8156", hint="give the folder of a model, as it was saved")


def _damaged(file: Path, error: Exception) -> RequestError:
    said = " ".join(str(error).split())[:200]
    return RequestError(
        f"{file} does not hold the weights of this model: {said}",
        code="E8156",
        hint="the file is damaged, or belongs to another architecture; fetch or train it again",
    )
