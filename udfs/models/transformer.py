"""Checkpoints of transformers: from a path or the cache, of architectures that the library itself has, safely."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from counterbalance.engine.errors import CounterbalanceError, RequestError
from counterbalance.udfs.models import phi3_vision
from counterbalance.udfs.models.weights import CHECKPOINT, need, pretrained

if TYPE_CHECKING:
    from pathlib import Path

    Kind = Literal[
        "IMAGE_TEXT_TO_TEXT",
        "SEQUENCE_CLASSIFICATION",
        "MASKED_LM",
        "CAUSAL_LM",
        "IMAGE_CLASSIFICATION",
        "MASK_GENERATION",
    ]

TWEETS: Final = (*CHECKPOINT, "*.bin")
"""What is fetched of BERTweet's children: also the weights of those that have no safetensors."""
NATIVE: Final = {
    "IMAGE_TEXT_TO_TEXT": "OpenGVLab/InternVL3-8B-hf, microsoft/Phi-3.5-vision-instruct, "
    "llava-hf/llava-v1.6-vicuna-7b-hf, Qwen/Qwen2.5-VL-7B-Instruct",
    "SEQUENCE_CLASSIFICATION": "finiteautomata/bertweet-base-sentiment-analysis, pysentimiento/bertweet-hate-speech",
    "MASKED_LM": "FacebookAI/roberta-base, google-bert/bert-base-uncased, answerdotai/ModernBERT-base",
    "CAUSAL_LM": "openai-community/gpt2, HuggingFaceTB/SmolLM2-135M",
    "IMAGE_CLASSIFICATION": "Falconsai/nsfw_image_detection",
    "MASK_GENERATION": "facebook/sam-vit-huge, facebook/sam-vit-large, facebook/sam-vit-base, facebook/sam2.1-hiera-large",
}
"""Models of each kind whose code is in transformers, or here."""
_AUTO: Final = {
    "IMAGE_TEXT_TO_TEXT": "AutoModelForImageTextToText",
    "SEQUENCE_CLASSIFICATION": "AutoModelForSequenceClassification",
    "MASKED_LM": "AutoModelForMaskedLM",
    "CAUSAL_LM": "AutoModelForCausalLM",
    "IMAGE_CLASSIFICATION": "AutoModelForImageClassification",
    "MASK_GENERATION": "AutoModelForMaskGeneration",
}


def load(path: Path, kind: Kind, device: str) -> Any:
    """Return a model ready to be called; code that came with the weights is never run.

    Weights are float32, but bfloat16 those of a language model on a GPU.

    Args:
        path: Folder of the checkpoint.
        kind: What the model does.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        RequestError: transformers has no such architecture (E3540), it does something else (E3541), its weights are refused
            (E3545), or they do not make such a model (E3546).
    """
    transformers: Any = need("transformers", "models")
    torch: Any = need("torch", "models")
    _check(path, kind)
    transformers.utils.logging.disable_progress_bar()
    half = device.startswith("cuda") and kind == "IMAGE_TEXT_TO_TEXT"
    try:
        model, told = getattr(transformers, _AUTO[kind]).from_pretrained(
            path,
            dtype=torch.bfloat16 if half else torch.float32,
            output_loading_info=True,
            **pretrained(path),
        )
    except CounterbalanceError:
        raise
    except Exception as error:  # what is wrong with a file, each reader says in its own way
        raise _unfit(path, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error
    missing = sorted(told["missing_keys"])
    if missing:
        raise _unfit(path, f"weights are missing: {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}")
    return model.to(device).eval()


def _unfit(path: Path, why: str) -> RequestError:
    hint = "a file is damaged, or the weights belong to another model; fetch them again"
    return RequestError(f"{path} cannot be loaded: {why}", code="E3546", hint=hint)


def _check(path: Path, kind: Kind) -> None:
    from transformers.models.auto import configuration_auto, modeling_auto

    file = path / "config.json"
    found = json.loads(file.read_text("utf-8")).get("model_type") if file.is_file() else None
    known: Any = getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES")
    if found == phi3_vision.KIND and kind == "IMAGE_TEXT_TO_TEXT":
        phi3_vision.register()
        return
    if found not in {*configuration_auto.CONFIG_MAPPING_NAMES, phi3_vision.KIND}:
        raise RequestError(
            f"{path} needs code of its own (model type {found!r} is none of transformers), which is never run; there is "
            f"code for {NATIVE[kind]}",
            code="E3540",
            hint="take one of these, or another model of an architecture that transformers has",
        )
    if found not in known:
        raise RequestError(
            f"{path} is not a model for {kind.lower().replace('_', ' ')}: it is of type {found!r}; such are {NATIVE[kind]}",
            code="E3541",
        )
