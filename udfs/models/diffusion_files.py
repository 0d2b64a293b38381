"""Checkpoints of diffusers: which of its pipelines one is for, and that loading it runs nothing but the libraries' own code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models.weights import digest, folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

INDEX: Final = "model_index.json"
FILES: Final = (
    INDEX,
    "*/*.json",
    "*/*.txt",
    "*/*.model",
    "*/model.safetensors",
    "*/model-*.safetensors",
    "*/diffusion_pytorch_model.safetensors",
    "*/diffusion_pytorch_model-*.safetensors",
)
"""What is fetched of a repository: its pipeline's parts in full precision, neither pickles nor the variants beside them."""
_TEXT, _TEXT_XL = "StableDiffusionPipeline", "StableDiffusionXLPipeline"
_EDIT, _EDIT_XL = "StableDiffusionInstructPix2PixPipeline", "StableDiffusionXLInstructPix2PixPipeline"
_PAINT, _PAINT_XL = "StableDiffusionInpaintPipeline", "StableDiffusionXLInpaintPipeline"
PIPELINES: Final[Mapping[str, Mapping[str, str]]] = {
    "generate": {_TEXT: _TEXT, _TEXT_XL: _TEXT_XL},
    "instruct_pix2pix": {_EDIT: _EDIT, _EDIT_XL: _EDIT_XL},
    "inpaint": {_PAINT: _PAINT, _PAINT_XL: _PAINT_XL, _TEXT: _PAINT, _TEXT_XL: _PAINT_XL},
}
"""By task: the class that runs it, by the class that the checkpoint names."""
_LIBRARIES: Final = frozenset({"diffusers", "transformers", "stable_diffusion"})


def fingerprint(model: str, **_: Any) -> str:
    """Return the digest of a checkpoint: its weights, configurations and vocabularies."""
    return digest(folder(model, FILES))


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
    known = PIPELINES[task]
    named = index.get("_class_name")
    if not isinstance(named, str) or named not in known:
        raise RequestError(
            f"{path.name} is a checkpoint of {named}, which cannot {task.replace('_', ' ')}",
            code="E3601",
            hint="take one of " + ", ".join(known),
        )
    for part, source in index.items():
        if isinstance(source, list) and source and source[0] not in {None, *_LIBRARIES}:
            raise RequestError(
                f"{path.name}: its {part} needs code of {source[0]!r}, which is never run",
                code="E3602",
                hint="take a checkpoint whose parts are classes of diffusers and transformers",
            )
    return known[named]


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
