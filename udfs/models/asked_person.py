"""A multimodal language model in the place of a classifier: what it says of the person in a crop, as a label.

It is asked ``label_prompt``'s question with ``label_options``, as the recipe ``laion400m`` asks those that its classifiers
learn from. Perceived labels are statistics about how groups are depicted, never claims about a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from counterbalance.engine.functions import Partial
from counterbalance.udfs import wordlists
from counterbalance.udfs.models.ask import ask, made_by
from counterbalance.udfs.prompts import label_options, label_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence


def digest(attribute: str, model: str) -> str:
    """Return the digest of the model's weights.

    Raises:
        RequestError: There is no question about the attribute (E3051).
    """
    label_prompt(pa.array([attribute]))
    return made_by(model)


class Asked:
    """Asks a model which label of an attribute fits. Close it in the end.

    Args:
        attribute: One that ``label_prompt`` has a question about.
        model: As for ``ask``.
        returns: Struct of which ``label`` is set.

    Raises:
        RequestError: There is no question about it (E3051).
    """

    def __init__(self, attribute: str, model: str, returns: pa.StructType) -> None:
        self._prompt = label_prompt(pa.array([attribute]))[0]
        self._options = label_options(pa.array([attribute]))[0]
        known = wordlists.wordlist("label_options").to_pylist()
        self._labels = {row["term"]: row["label"] for row in known if row["class"] == attribute}
        self._returns = returns
        self._ask = ask(model, seed=0)

    def open(self, device: str) -> None:
        """Load the model."""
        self._ask.open(device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._ask.expect(image, *self._question(len(image)))

    def __call__(self, image: pa.Array) -> Partial:
        """Return the labels of encoded pictures; NULL gives NULL, a reply that names no option is an error of its row."""
        found = self._ask(image, *self._question(len(image)))
        labels = [said and {"label": self._labels[said["answer"]]} for said in found.values.to_pylist()]
        return Partial(pa.array(labels, self._returns), found.errors)

    def _question(self, rows: int) -> Sequence[pa.Array]:
        return pa.repeat(self._prompt, rows), pa.repeat(self._options, rows)

    def close(self) -> None:
        """Let the model go."""
        self._ask.close()
