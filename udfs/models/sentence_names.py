"""Read what a sentence model is: the pooling, the length and the limits that its files declare, without importing torch.

Files are those of sentence-transformers (``modules.json`` and the folders it names); a plain folder of transformers gets
the mean of its tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs.models import weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

POOLINGS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Ways to make one vector of a text's tokens, by the older name of the flag; several are joined in this order."""
_LENGTHS: Final = ("hidden_size", "dim", "d_model")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a model's files declare.

    Args:
        folder: Of the transformer: its configuration, tokeniser and weights.
        width: Length of the vectors.
        poolings: One or several of the values of ``POOLINGS``.
        most_tokens: Longest text, in tokens, special ones included; ``None`` for what the tokeniser says.
        lower: Whether texts are made lower case first.
        prompt: What is put before every text.
    """

    folder: Path
    width: int
    poolings: tuple[str, ...] = ("mean",)
    most_tokens: int | None = None
    lower: bool = False
    prompt: str = ""


def declared(model: str) -> Declared:
    """Read a model's files.

    Args:
        model: A folder, or the id of a repository of the hub.

    Raises:
        NotFoundError: It is not there (E1102), or is no such model (E1120).
        RequestError: Its files are damaged (E3520), or it has a part that is not known here (E3531).
    """
    root = weights.folder(model)
    parts = {_kind(m): root / str(m.get("path", "")) for m in _modules(root)}
    folder = parts.get("Transformer", root)
    config = _json(folder / "config.json")
    if config is None:
        raise NotFoundError(
            f"{model} is not a model of sentences: {folder} has no config.json",
            code="E1120",
            hint="a folder of sentence-transformers or transformers, or the id of a repository of the hub",
        )
    lengths = [int(config[name]) for name in _LENGTHS if isinstance(config.get(name), int)]
    if not lengths:
        raise RequestError(f"{folder / 'config.json'} does not tell the length of its vectors", code="E3520")
    pooling = (_json(parts["Pooling"] / "config.json") if "Pooling" in parts else None) or {}
    poolings = _poolings(pooling, model)
    limits = next((_json(f) for f in sorted(folder.glob("sentence_*_config.json"))), None) or {}
    most = limits.get("max_seq_length")
    return Declared(
        folder,
        lengths[0] * len(poolings),
        poolings,
        int(most) if most else None,
        bool(limits.get("do_lower_case", False)),
        _prompt(root, pooling, model),
    )


def _modules(root: Path) -> list[dict[str, Any]]:
    found = _json(root / "modules.json", list)
    return [] if found is None else [m for m in found if isinstance(m, dict)]


def _kind(module: Mapping[str, Any]) -> str:
    kind = str(module.get("type", "")).rpartition(".")[2]
    if kind not in {"Transformer", "Pooling", "Normalize"}:
        raise RequestError(
            f"a model of sentences with a part {kind!r} is not known here",
            code="E3531",
            hint="known: a transformer, its pooling, and normalising",
        )
    return kind


def _poolings(config: Mapping[str, Any], model: str) -> tuple[str, ...]:
    given = config.get("pooling_mode")
    if given is None:
        given = [mode for flag, mode in POOLINGS.items() if config.get(flag)] or ["mean"]
    found = (given,) if isinstance(given, str) else tuple(given)
    if not found or not set(found) <= set(POOLINGS.values()):
        raise RequestError(
            f"{model} pools its tokens by {given!r}", code="E3531", hint="known: " + ", ".join(POOLINGS.values())
        )
    return found


def _prompt(root: Path, pooling: Mapping[str, Any], model: str) -> str:
    config = _json(root / "config_sentence_transformers.json") or {}
    prompt = str((config.get("prompts") or {}).get(config.get("default_prompt_name"), ""))
    if prompt and not pooling.get("include_prompt", True):
        raise RequestError(f"{model} leaves its prompt out of the pooling, which is not known here", code="E3531")
    return prompt


def _json(path: Path, kind: type = dict) -> Any:
    """Return what a JSON file holds; ``None`` where there is none."""
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise RequestError(f"{path} is no JSON: {error}", code="E3520") from error
    if not isinstance(found, kind):
        raise RequestError(f"{path} does not hold what it should", code="E3520")
    return found
