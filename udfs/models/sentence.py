"""Sentence models as functions (transformers): a vector for the meaning of a text.

What sentence-transformers computes for the same model, from its own declarations: how tokens are pooled, how long a text
may be, which prompt comes first. Vectors have length 1 whether or not the model says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.language import longest
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import by_budget, inference, vectors
from counterbalance.udfs.models.sentence_names import Declared, declared
from counterbalance.udfs.models.shared import Borrower, Shared, loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DEFAULT: Final = "sentence-transformers/all-MiniLM-L6-v2"
_TOKENS: Final = {"cuda": 131_072, "cpu": 8_192}
"""Tokens of a batch, padding included."""


class Sentences:
    """A model on a device.

    Args:
        model: A folder, or the id of a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        RequestError: transformers is missing, or the files do not make a model (E3546).
    """

    def __init__(self, model: str, device: str) -> None:
        self.device = device
        self.declared = declared(model)
        with loading(model):
            self._network, self._tokenizer = _loaded(self.declared, device)
        self._most = self.declared.most_tokens or longest(self._network.config, self._tokenizer)
        self._meter = Meter(f"{model}, texts", device)

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()

    def vectors(self, texts: Sequence[str]) -> dict[int, NDArray[np.float32]]:
        """Return unit vectors by number of the text; texts of like length share a batch, so that little is padding."""
        plain = [self.declared.prompt + t for t in texts]
        plain = [t.lower() for t in plain] if self.declared.lower else plain
        tokens = self._tokenizer(plain, truncation=True, max_length=self._most)["input_ids"]
        found: dict[int, NDArray[np.float32]] = {}
        for batch in by_budget([len(t) for t in tokens], _TOKENS[self.device.partition(":")[0]]):
            found |= zip(batch.tolist(), self._batch([tokens[i] for i in batch]), strict=True)
        return found

    def _batch(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        functional: Any = weights.need("torch.nn.functional", "models")
        padded = self._tokenizer.pad({"input_ids": tokens}, return_tensors="pt", return_attention_mask=True)
        ids, mask = padded["input_ids"].to(self.device), padded["attention_mask"].to(self.device)
        with self._meter.batch(len(tokens), ids.numel()), inference(self.device):
            states = self._network(input_ids=ids, attention_mask=mask).last_hidden_state
        joined = pooled(states.float(), mask, self.declared.poolings)
        result: NDArray[np.float32] = functional.normalize(joined, dim=-1).cpu().numpy()
        return result


def pooled(states: Any, mask: Any, poolings: Sequence[str]) -> Any:
    """Return one vector a text from those of its tokens.

    Args:
        states: Tensor, float32 (texts, tokens, width).
        mask: Tensor (texts, tokens): 1 for tokens, 0 for padding, which may stand on either side.
        poolings: Values of ``sentence_names.POOLINGS``; what they give is joined.

    Returns:
        Tensor, float32 (texts, width times poolings).
    """
    torch: Any = weights.need("torch", "models")
    rows, places = torch.arange(len(states), device=states.device), torch.arange(states.shape[1], device=states.device)
    there = mask.unsqueeze(-1).to(states.dtype)
    first = mask.to(torch.int32).argmax(1)
    total, count = (states * there).sum(1), there.sum(1).clamp(min=1e-9)
    ranks = (places + 1 - first.unsqueeze(1)).unsqueeze(-1) * there
    ways = {
        "cls": lambda: states[rows, first],
        "max": lambda: states.masked_fill(there == 0, float("-inf")).amax(1),
        "mean": lambda: total / count,
        "mean_sqrt_len_tokens": lambda: total / count.sqrt(),
        "weightedmean": lambda: (states * ranks).sum(1) / ranks.sum(1).clamp(min=1e-9),
        "lasttoken": lambda: states[rows, (places * mask).argmax(1)],
    }
    return torch.cat([ways[p]() for p in poolings], dim=-1)


def _loaded(found: Declared, device: str) -> tuple[Any, Any]:
    transformers: Any = weights.need("transformers", "models")
    torch: Any = weights.need("torch", "models")
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(found.folder, **safe)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    given = weights.pretrained(found.folder)
    network = transformers.AutoModel.from_pretrained(found.folder, dtype=torch.float32, **given)
    network = network.get_encoder() if network.config.is_encoder_decoder else network
    return network.to(device).eval(), tokenizer


MODELS: Final[Shared[Sentences]] = Shared(Sentences)
"""The models of this process."""


@udf(
    returns=lambda model: pa.list_(pa.float32(), declared(model).width),
    parameters=[Parameter("text", pa.string()), Parameter("model", pa.string(), DEFAULT, constant=True)],
    version="1",
    batch_size=8192,
    device="auto",
    memory="2GB",
    weights=lambda model: weights.digest(weights.folder(model)),
)
class embed_sentence(Borrower[Sentences]):  # noqa: N801 - the name of a SQL function
    """Vector of a text by a sentence model: a unit vector that is near those of texts that mean the same (transformers).

    A longer text than the model takes is cut at its end. A text's vector does not depend on the texts that share its batch,
    beyond float rounding.

    Args:
        model: A folder, or the id of a repository of the hub: of sentence-transformers, whose pooling, longest text and
            prompt hold, or of plain transformers, whose tokens' mean is taken.

    Example:
        ``ALTER TABLE captions ADD COLUMN meaning AS (embed_sentence(text, 'ibm-granite/granite-embedding-english-r2'))``
    """

    def __init__(self, model: str = DEFAULT) -> None:
        super().__init__(MODELS, model)
        self._kind = pa.list_(pa.float32(), declared(model).width)

    def __call__(self, text: pa.Array) -> Partial:
        """Return fixed-size lists of float32; equal texts are computed once."""
        coded = text.dictionary_encode()
        found = self.loaded.vectors(coded.dictionary.to_pylist())
        places = enumerate(coded.indices.to_pylist())
        return vectors({row: found[p] for row, p in places if p is not None}, {}, len(text), self._kind)
