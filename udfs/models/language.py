"""Language models that score texts: a model with its tokeniser, and batches of token ids padded behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.udfs.models import transformer, weights
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.shared import loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.udfs.models.transformer import Kind

_OFFSET: Final = frozenset({"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer"})
"""Kinds of models whose positions begin behind the number of the padding token."""
_UNLIMITED: Final = 1 << 20


class Language:
    """A language model on a device.

    Args:
        name: A folder, or the id of a repository of the hub.
        kind: What it does.
        device: ``"cpu"``, ``"cuda:0"`` …
        role: Name of the function that uses it.

    Raises:
        NotFoundError: It is not there (E1102, E1103).
        RequestError: It is of another kind (E3540, E3541), its files make no model (E3546), or transformers is missing (E3501).
    """

    def __init__(self, name: str, kind: Kind, device: str, role: str) -> None:
        path = weights.folder(name)
        transformers: Any = weights.need("transformers", "models")
        with loading(name):
            self.model = transformer.load(path, kind, device)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                path, local_files_only=True, trust_remote_code=False
            )
        self.device, self.longest = device, longest(self.model.config, self.tokenizer)
        self.meter = Meter(f"{role}, {name}", device)

    def padded(self, ids: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return tensors ``input_ids`` and ``attention_mask``, int64 (texts, longest text), on the device; padding is behind."""
        torch: Any = weights.need("torch", "models")
        filler = self.tokenizer.pad_token_id
        shape = len(ids), max(map(len, ids))
        tokens, there = np.full(shape, 0 if filler is None else filler, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)], there[row, : len(one)] = one, 1
        names = {"input_ids": tokens, "attention_mask": there}
        return {name: torch.from_numpy(values).to(self.device) for name, values in names.items()}

    def close(self) -> None:
        """Tell how fast it was."""
        self.meter.close()


def longest(config: Any, tokenizer: Any) -> int:
    """Return the most tokens that positions and tokeniser allow."""
    places = int(getattr(config, "max_position_embeddings", None) or _UNLIMITED)
    if config.model_type in _OFFSET:
        places -= int(config.pad_token_id) + 1
    return max(1, min(places if places > 0 else _UNLIMITED, int(tokenizer.model_max_length)))
