"""Checkpoints of diffusers: which of its pipelines runs one, and that loading it runs nothing but the libraries' own code."""

from __future__ import annotations

import inspect
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models.weights import checked, digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Mapping

INDEX: Final = "model_index.json"
FILES: Final = (
    INDEX,
    "*/*.json",
    "*/*.txt",
    "*/*.model",
    "*/*.jinja",
    "*/model.safetensors",
    "*/model-*.safetensors",
    "*/diffusion_pytorch_model.safetensors",
    "*/diffusion_pytorch_model-*.safetensors",
)
"""What is fetched of a repository: its pipeline's parts in full precision, neither pickles nor the variants beside them."""
PART: Final = ("config.json", "diffusion_pytorch_model.safetensors", "diffusion_pytorch_model-*.safetensors")
"""What is fetched of the repository of a single part, such as an autoencoder."""
LORA: Final = "pytorch_lora_weights.safetensors"
_SAFE: Final = ".safetensors"
_EDITORS: Final = ("StableDiffusionInstructPix2PixPipeline", "StableDiffusionXLInstructPix2PixPipeline")
_PAINTERS: Final = {"FluxFillPipeline": "FluxFillPipeline", "FluxKontextPipeline": "FluxKontextInpaintPipeline"}
"""Classes beside the tables of diffusers' auto pipelines, which have no task of editing by instructions."""
_SUCH: Final[Mapping[str, str]] = {
    "generate": "StableDiffusionPipeline, StableDiffusionXLPipeline, StableDiffusion3Pipeline, FluxPipeline",
    "instruct_pix2pix": f"{_EDITORS[0]}, FluxKontextPipeline, QwenImageEditPipeline",
    "inpaint": "StableDiffusionInpaintPipeline, StableDiffusionXLInpaintPipeline, FluxFillPipeline",
}
_OTHERWISE: Final = frozenset({"num_frames", "layers"})
"""Arguments of pipelines that make something else than a picture."""
_LIBRARIES: Final = frozenset({"diffusers", "transformers", "stable_diffusion"})


def fingerprint(model: str, vae: str = "", lora: str = "", **_: Any) -> str:
    """Return the digest of a checkpoint: its weights, configurations and vocabularies, and those of another autoencoder and a LoRA."""
    own = digest(folder(model, FILES))
    own = f"{own}+{digest(folder(vae, PART))}" if vae else own
    return f"{own}+{digest(adapter(lora))}" if lora else own


def adapter(name: str) -> Path:
    """Return the file of a LoRA.

    Args:
        name: A file of safetensors; or a folder, or a repository of the hub, with one, or with one of the name that
            diffusers gives it.

    Raises:
        NotFoundError: There is none of that name (E1102, E1103).
        RequestError: There are several files and none of that name, or there is no file (E3520), or it is damaged (E3545).
    """
    local = Path(name).expanduser()
    files = [local] if local.is_file() else sorted(folder(name, (f"*{_SAFE}",)).glob(f"*{_SAFE}"))
    named = [file for file in files if file.name == LORA] or files
    if len(named) != 1 or named[0].suffix != _SAFE:
        raise RequestError(
            f"{name} is not a LoRA: it holds {len(files)} files of {_SAFE}, and none is {LORA}",
            code="E3520",
            hint="name the file, or a folder or repository that holds one",
        )
    return checked(named[0])


def pipeline_class(path: Path, task: str) -> str:
    """Return the name of the class of diffusers that runs a checkpoint for a task.

    Args:
        path: Folder of the checkpoint.
        task: ``"generate"``, ``"instruct_pix2pix"`` or ``"inpaint"``.

    Raises:
        RequestError: It is not a checkpoint of diffusers (E3520), is for something else (E3601), or needs code of its own
            (E3602).
    """
    index = _index(path)
    named = index.get("_class_name")
    known = pipelines(task)
    if not isinstance(named, str) or named not in known:
        raise cannot(path.name, str(named), task, _SUCH[task])
    for part, source in index.items():
        if isinstance(source, list) and source and source[0] not in {None, *_LIBRARIES}:
            raise RequestError(
                f"{path.name}: its {part} needs code of {source[0]!r}, which is never run",
                code="E3602",
                hint="take a checkpoint whose parts are classes of diffusers and transformers",
            )
    return known[named]


def cannot(name: str, kind: str, task: str, known: str) -> RequestError:
    """Return the error that a checkpoint is for something else (E3601).

    Args:
        name: Of the checkpoint.
        kind: Its class of diffusers.
        task: What it is asked for.
        known: Classes that can.
    """
    return RequestError(
        f"{name} is a checkpoint of {kind}, which cannot {task.replace('_', ' ')}",
        code="E3601",
        hint=f"take one such as {known}",
    )


@cache
def pipelines(task: str) -> Mapping[str, str]:
    """Return the classes of diffusers that run a task, by the class that the checkpoint names.

    They are those of diffusers' tables of auto pipelines that decode latents by an autoencoder: whatever the installed
    version knows. What is steered by a further picture (ControlNet) or makes videos or layers is left out, and so is what
    needs a second checkpoint (Kandinsky, Stable Cascade) or makes pixels without an autoencoder (DeepFloyd IF).

    Args:
        task: ``"generate"``, ``"instruct_pix2pix"`` or ``"inpaint"``.

    Example:
        >>> pipelines("inpaint")["StableDiffusionPipeline"]
        'StableDiffusionInpaintPipeline'
    """
    auto: Any = need("diffusers.pipelines.auto_pipeline", "models")
    drawn = _usable(auto.AUTO_TEXT2IMAGE_PIPELINES_MAPPING)
    changed = _usable(auto.AUTO_IMAGE2IMAGE_PIPELINES_MAPPING)
    if task == "generate":
        return {kind: kind for kind in drawn.values()}
    if task == "instruct_pix2pix":  # what takes a strength starts from the picture, and is told what is to be seen
        told = (kind for kind in changed.values() if "strength" not in takes(kind))
        return {kind: kind for kind in (*_EDITORS, *told)}
    found = dict(_PAINTERS)
    for family, painter in _usable(auto.AUTO_INPAINT_PIPELINES_MAPPING).items():
        found |= {kind: painter for table in (drawn, changed) if (kind := table.get(family))} | {painter: painter}
    return found


@cache
def takes(kind: str, method: str = "__call__") -> Mapping[str, inspect.Parameter]:
    """Return the arguments of a class of diffusers, by name, or of another method of it."""
    return inspect.signature(getattr(getattr(need("diffusers", "models"), kind), method)).parameters


def _usable(table: Mapping[str, Any]) -> dict[str, str]:
    """Return names of classes by family: those that make a picture of a text, or of a text and a picture."""
    named = {family: made.__name__ for family, made in table.items() if "control" not in family}
    return {
        family: kind
        for family, kind in named.items()
        if {"prompt", "generator"} <= takes(kind).keys()
        and not _OTHERWISE & takes(kind).keys()
        and "vae" in takes(kind, "__init__")
    }


def _index(path: Path) -> dict[str, Any]:
    file = path / INDEX
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = "there is none" if not file.exists() else str(error)
        raise RequestError(
            f"{path} is not a checkpoint of diffusers: {INDEX} cannot be read: {reason}",
            code="E3520",
            hint=f"a folder, or a repository, with {INDEX} and a folder for each part of the pipeline",
        ) from error
    return found if isinstance(found, dict) else {}
