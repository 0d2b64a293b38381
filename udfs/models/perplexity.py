"""Measure how likely a language model finds a text: ``perplexity``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.language import Language
from counterbalance.udfs.models.running import by_budget, inference, rows_of
from counterbalance.udfs.models.shared import Borrower, Shared
from counterbalance.udfs.models.weights import digest, folder, need

DEFAULT: Final = "openai-community/gpt2"
_TOKENS: Final = {"cpu": 2_048, "cuda": 16_384}
"""Tokens of a batch, padding included: each has a score for every entry of the vocabulary."""
MODELS: Final[Shared[Language]] = Shared(lambda name, device: Language(name, "CAUSAL_LM", device, "perplexity"))


@udf(
    returns=pa.float64(),
    parameters=[Parameter("text", pa.string()), Parameter("model", pa.string(), DEFAULT, constant=True)],
    version="1",
    batch_size=4096,
    device="auto",
    memory="4GB",
    weights=lambda model: digest(folder(model)),
)
class perplexity(Borrower[Language]):  # noqa: N801 - its name in SQL
    """How unlikely a causal language model finds a text: exp of the mean of -ln p(token | tokens before it), from 1 up.

    The model's token for the beginning of a text (GPT-2: ``<|endoftext|>``) is put in front, so that the first token counts,
    too, and a text of one token has a value: what the ``evaluate`` library's perplexity does. A model without such a token
    predicts from the second token on. No other special tokens are added.

    Args:
        model: A folder, or the id of a repository of the hub, of a causal language model.

    Call with:
        text: Strings; NULL, and a text in which nothing is predicted (the empty one), give NULL. One that is longer than the
            model takes is an error of its row: a part's perplexity is not the text's.

    Returns:
        float64. A text's batch mates change it by rounding only.

    Raises:
        NotFoundError: There is no such model (E1102, E1103).
        RequestError: It is of another kind (E3540, E3541) or damaged (E3546), or an extra is missing (E3501).

    Source:
        Le et al., COCO-Counterfactuals (2023), section 3.1: GPT-2 chooses among changed captions.

    Example:
        ``SELECT text FROM captions ORDER BY perplexity(text) DESC LIMIT 10``
    """

    def __init__(self, model: str = DEFAULT) -> None:
        super().__init__(MODELS, model)

    def __call__(self, text: pa.Array) -> Partial:
        """Return the perplexities of a batch; equal texts are computed once."""
        language = self.loaded
        coded = text.dictionary_encode()
        texts, places = coded.dictionary.to_pylist(), coded.indices.to_pylist()
        ids = language.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
        first = language.tokenizer.bos_token_id
        ids = [one if first is None else [first, *one] for one in ids]
        fits = [i for i, one in enumerate(ids) if 1 < len(one) <= language.longest]
        found: dict[int, float] = {}
        for part in by_budget([len(ids[i]) for i in fits], _TOKENS[self.device.partition(":")[0]]):
            members = [fits[i] for i in part]
            found |= zip(members, _means(language, [ids[i] for i in members]), strict=True)
        long = {
            i: f"{len(one)} tokens, more than the model's {language.longest}"
            for i, one in enumerate(ids)
            if len(one) > language.longest
        }
        rows = [(row, place) for row, place in enumerate(places) if place is not None]
        values = {row: float(np.exp(found[p])) for row, p in rows if p in found}
        return rows_of(values, {row: long[p] for row, p in rows if p in long}, len(text), pa.float64())


def _means(language: Language, ids: list[list[int]]) -> list[float]:
    """Return mean negative log-likelihood of each text's tokens behind its first, in double precision."""
    functional: Any = need("torch.nn.functional", "models")
    given = language.padded(ids)
    with language.meter.batch(len(ids), given["input_ids"].numel()), inference(language.device):
        logits = language.model(**given, use_cache=False).logits
    losses = functional.cross_entropy(
        logits[:, :-1].float().transpose(1, 2), given["input_ids"][:, 1:], reduction="none"
    )
    kept = given["attention_mask"][:, 1:].double()
    means = (losses.double() * kept).sum(1) / kept.sum(1)
    result: list[float] = means.cpu().tolist()
    return result
