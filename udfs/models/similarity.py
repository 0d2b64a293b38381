"""Measure how alike two texts are in meaning: ``sentence_similarity``."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.models.sentence import DEFAULT, MODELS, Sentences
from counterbalance.udfs.models.shared import Borrower
from counterbalance.udfs.models.weights import digest, folder

_TEXT: Final = pa.string()


@udf(
    returns=pa.float32(),
    parameters=[Parameter("a", _TEXT), Parameter("b", _TEXT), Parameter("model", _TEXT, DEFAULT, constant=True)],
    version="1",
    batch_size=8192,
    device="auto",
    memory="2GB",
    weights=lambda model: digest(folder(model)),
)
class sentence_similarity(Borrower[Sentences]):  # noqa: N801 - its name in SQL
    """Cosine of the vectors that a sentence model makes of two texts, as ``embed_sentence`` makes them.

    Args:
        model: As for ``embed_sentence``.

    Call with:
        a: Strings; NULL on either side gives NULL.
        b: Strings.

    Returns:
        float32 in [-1, 1]; 1 for equal texts. A text's batch mates change it by rounding only.

    Raises:
        NotFoundError: There is no such model (E1102, E1103, E1120).
        RequestError: It cannot be loaded (E3546), or an extra is missing (E3501).

    Source:
        Le et al., COCO-Counterfactuals (2023), section 3.1: changed captions are kept above .8 and up to .91.

    Example:
        ``SELECT sentence_similarity('a man rides a horse', 'a man rides a pony')``
    """

    def __init__(self, model: str = DEFAULT) -> None:
        super().__init__(MODELS, model)

    def __call__(self, a: pa.Array, b: pa.Array) -> pa.Array:
        """Return the cosines of a batch; equal texts are computed once."""
        coded = pa.concat_arrays([a, b]).dictionary_encode()
        places = coded.indices.fill_null(-1).to_numpy().reshape(2, len(a))
        whole = (places >= 0).all(axis=0)
        values = np.zeros(len(a), np.float32)
        if whole.any():
            used = np.unique(places[:, whole])
            found = self.loaded.vectors(coded.dictionary.take(pa.array(used)).to_pylist())
            vectors = np.stack([found[i] for i in range(len(used))]).astype(np.float64)
            one, other = np.searchsorted(used, places[:, whole])
            cosines = np.einsum("ij,ij->i", vectors[one], vectors[other])
            values[whole] = np.where(one == other, 1, np.clip(cosines, -1, 1))
        return pa.array(values, mask=~whole)
