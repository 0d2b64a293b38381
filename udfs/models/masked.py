"""Find what else could stand in the place of a word: ``fill_mask``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.language import Language
from counterbalance.udfs.models.running import by_budget, inference, rows_of
from counterbalance.udfs.models.shared import Borrower, Shared
from counterbalance.udfs.models.weights import digest, folder, need
from counterbalance.udfs.spans import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DEFAULT: Final = "FacebookAI/roberta-base"
CANDIDATES: Final = pa.list_(pa.struct([("token", pa.string()), ("score", pa.float32())]))
_TOKENS: Final = {"cpu": 8_192, "cuda": 131_072}
_ROWS: Final = 1_024
"""Most texts of a batch: each has a score for every entry of the vocabulary."""


_SPACE: Final = "\u0120"
"""How byte-level vocabularies (GPT-2's, RoBERTa's) write a space before a token."""
_BLANK: Final = "\u2581"
"""How SentencePiece writes it; the beginning of a text counts as one."""
_PIECE: Final = "##"
"""How WordPiece (BERT's) writes that a token goes on."""


class Vocabulary:
    """The whole words of a tokeniser: tokens of letters only that begin a word.

    Args:
        tokenizer: Of transformers.
        size: Entries for which the model has scores; at least as many as the tokeniser has.

    Attributes:
        words: Text of each token without marks; empty for what is not a whole word.
        behind_space: Which are words where a space, or whatever is not a letter, stands before; bool (size,).
        elsewhere: Which are at the beginning of a text or behind a mark without a space; bool (size,).
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        tokens = [t if isinstance(t, str) else "" for t in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
        special = set(tokenizer.all_special_ids)
        mark = next((m for m in (_SPACE, _BLANK) if any(t.startswith(m) for t in tokens)), "")
        self.words = [""] * size
        marked = np.zeros(size, bool)
        for number, token in enumerate(tokens[:size]):
            text = _text(tokenizer, token, mark)
            if number not in special and text.isalpha():
                self.words[number] = text
                marked[number] = bool(mark) and token.startswith(mark)
        known: NDArray[np.bool_] = np.array([bool(w) for w in self.words])
        self.behind_space = marked if mark else known
        self.elsewhere = known & ~marked if mark == _SPACE else self.behind_space


def _text(tokenizer: Any, token: str, mark: str) -> str:
    """Return what a token writes; nothing for one that goes on another."""
    if mark == _SPACE:  # bytes are written as letters: only the tokeniser reads them
        return str(tokenizer.convert_tokens_to_string([token])).removeprefix(" ")
    return token.removeprefix(mark) if mark else "" if token.startswith(_PIECE) else token


@dataclass(frozen=True, slots=True)
class _Masked:
    """A text with its mask: token ids, which of them is the mask, and whether a space stands before it."""

    ids: list[int]
    at: int
    spaced: bool


class Masks:
    """A masked language model on a device.

    Args:
        name: A folder, or the id of a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        RequestError: The tokeniser has no token for a mask (E3622), or as ``Language``.
        NotFoundError: As ``Language``.
    """

    def __init__(self, name: str, device: str) -> None:
        self._language = Language(name, "MASKED_LM", device, "fill_mask")
        if self._language.tokenizer.mask_token_id is None:
            raise RequestError(f"the tokeniser of {name} has no token for a mask", code="E3622")
        self._vocabulary = Vocabulary(self._language.tokenizer, int(self._language.model.config.vocab_size))
        torch: Any = need("torch", "models")
        kinds = [self._vocabulary.elsewhere, self._vocabulary.behind_space]
        self._kinds = torch.stack([torch.from_numpy(kind) for kind in kinds]).to(device)

    def close(self) -> None:
        """Tell how fast it was."""
        self._language.close()

    def masked(self, text: str, position: int) -> _Masked | str:
        """Return a text with a word masked, or why that cannot be."""
        places = spans(text)
        if not 0 <= position < len(places):
            return f"position {position} in a text of {len(places)} words and marks, counted from 0"
        start, end = places[position]
        tokenizer = self._language.tokenizer
        mask = tokenizer.mask_token
        ids = tokenizer(text[:start] + mask + text[end:])["input_ids"]
        if len(ids) > self._language.longest:
            return f"{len(ids)} tokens, more than the model's {self._language.longest}"
        masks = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id]
        return _Masked(ids, masks[text[:start].count(mask)], text[:start].endswith((" ", "\t", "\n")))

    def best(self, given: Sequence[_Masked], k: int) -> list[list[dict[str, Any]]]:
        """Return the ``k`` likeliest whole words in the place of each mask, with their probabilities."""
        found: dict[int, list[dict[str, Any]]] = {}
        budget = _TOKENS[self._language.device.partition(":")[0]]
        for part in by_budget([len(one.ids) for one in given], budget, _ROWS):
            found |= zip(part.tolist(), self._batch([given[i] for i in part], k), strict=True)
        return [found[i] for i in range(len(given))]

    def _batch(self, given: list[_Masked], k: int) -> list[list[dict[str, Any]]]:
        torch: Any = need("torch", "models")
        language = self._language
        rows = torch.arange(len(given), device=language.device)
        at = torch.tensor([one.at for one in given], device=language.device)

        def only_masks(_: Any, __: Any, output: Any) -> Any:
            """Hand on the state of the masks alone: scores of the other tokens would be most of the work."""
            output.last_hidden_state = output.last_hidden_state[rows, at].unsqueeze(1)
            return output

        hook = language.model.base_model.register_forward_hook(only_masks)
        try:
            padded = language.padded([one.ids for one in given])
            with language.meter.batch(len(given), padded["input_ids"].numel()), inference(language.device):
                logits = language.model(**padded).logits[:, 0]
        finally:
            hook.remove()
        kinds = self._kinds[torch.tensor([int(one.spaced) for one in given], device=language.device)]
        shares = logits.float().softmax(-1).masked_fill(~kinds, -1)
        scores, tokens = (t.cpu().tolist() for t in shares.topk(min(k, shares.shape[1])))
        words = self._vocabulary.words
        return [
            [{"token": words[t], "score": s} for s, t in sorted(zip(row, ids, strict=True), key=_order) if s >= 0]
            for row, ids in zip(scores, tokens, strict=True)
        ]


def _order(scored: tuple[float, int]) -> tuple[float, int]:
    return -scored[0], scored[1]


MODELS: Final[Shared[Masks]] = Shared(Masks)


@udf(
    returns=CANDIDATES,
    parameters=[
        Parameter("text", pa.string()),
        Parameter("position", pa.int32()),
        Parameter("k", pa.int32(), 10, constant=True),
        Parameter("model", pa.string(), DEFAULT, constant=True),
    ],
    version="1",
    batch_size=4096,
    device="auto",
    memory="4GB",
    weights=lambda model, **_: digest(folder(model)),
)
class fill_mask(Borrower[Masks]):  # noqa: N801 - its name in SQL
    """The likeliest whole words in the place of a word of a text, by a masked language model (transformers).

    The word is replaced by the model's mask; of the vocabulary, tokens count that are a word of letters by themselves, not
    a part of one, a mark or a number. The word that stood there is among them if the model finds it likely.

    Args:
        k: How many.
        model: A folder, or the id of a repository of the hub, of a masked language model.

    Call with:
        text: Strings; NULL gives NULL. One that is longer than the model takes is an error of its row.
        position: Which word, from 0, as ``nouns`` counts; NULL gives NULL, one that is not there is an error of its row.

    Returns:
        list<struct<token: string, score: float32>>, likeliest first: words, and their probabilities among the whole
        vocabulary. Fewer than ``k`` where the vocabulary has no more. A text's batch mates change scores by rounding only.

    Raises:
        NotFoundError: There is no such model (E1102, E1103).
        RequestError: k is below 1 (E3051), the model is of another kind (E3540, E3541, E3622) or damaged (E3546), or an extra
            is missing (E3501).

    Source:
        Le et al., COCO-Counterfactuals (2023), section 3.1: the ten likeliest replacements of a noun.

    Example:
        ``SELECT fill_mask('a man rides a horse', 4, 3)``
    """

    def __init__(self, k: int = 10, model: str = DEFAULT) -> None:
        if k < 1:
            raise RequestError(f"k of fill_mask() must be at least 1, not {k}", code="E3051")
        super().__init__(MODELS, model)
        self._k = k

    def __call__(self, text: pa.Array, position: pa.Array) -> Partial:
        """Return the candidates of a batch."""
        errors: dict[int, str] = {}
        given: dict[int, _Masked] = {}
        for row, (one, place) in enumerate(zip(text.to_pylist(), position.to_pylist(), strict=True)):
            if one is not None and place is not None:
                masked = self.loaded.masked(one, place)
                if isinstance(masked, str):
                    errors[row] = masked
                else:
                    given[row] = masked
        found = self.loaded.best(list(given.values()), self._k)
        return rows_of(dict(zip(given, found, strict=True)), errors, len(text), CANDIDATES)
