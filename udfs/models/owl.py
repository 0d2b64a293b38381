"""Find attributes of things in a picture, by a detector that finds what words describe: ``object_attributes``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs import proposals
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.matching_model import FOUND, described, fingerprint, loaded
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import inference, of_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.proposals import Category

DEFAULT: Final = "google/owlv2-large-patch14-ensemble"
_AT_ONCE: Final = {"cpu": 2, "cuda": 8}
"""Pictures that go through the model at once."""


class Owl:
    """An OWLv2 model that looks for some texts, which are encoded once.

    Args:
        model: A folder, or a repository of the hub.
        texts: What is looked for; each is judged by itself, whatever the others are.
        device: ``"cpu"``, ``"cuda:0"`` …
    """

    def __init__(self, model: str, texts: Sequence[str], device: str) -> None:
        self._device = device
        self._model, self._processor = loaded(model, "owlv2", "Owlv2ForObjectDetection", device)
        longest = int(self._model.config.text_config.max_position_embeddings)
        tokens = self._processor.tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        ).to(device)
        with inference(device):
            found = self._model.owlv2.get_text_features(
                input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
            ).pooler_output
            self._texts = found / found.norm(dim=-1, keepdim=True)
        self._meter = Meter("object_attributes", device)

    def scores(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return the probability of each text in each place of each picture, float32 (pictures, places, texts)."""
        pixels = self._processor.image_processor(pictures, return_tensors="pt", input_data_format="channels_last")
        with self._meter.batch(len(pictures)), inference(self._device):
            places = self._model.image_embedder(pixel_values=pixels["pixel_values"].to(self._device))[0].flatten(1, 2)
            logits, _ = self._model.class_predictor(places, self._texts.expand(len(pictures), -1, -1), None)
        found: NDArray[np.float32] = logits.float().sigmoid().cpu().numpy()
        return found

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()


@udf(
    returns=FOUND,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("attributes", pa.string(), constant=True),
        Parameter("model", pa.string(), DEFAULT, constant=True),
        Parameter("score", pa.float64(), 0.3, constant=True),
    ],
    version="1",
    batch_size=512,
    device="auto",
    memory="8GB",
    weights=fingerprint,
)
class object_attributes:  # noqa: N801 - the name of a SQL function
    """Attributes of things in pictures, such as furniture or clothes, that an open-vocabulary detector (OWLv2) finds.

    Of every category with level ``object`` a picture has the attributes that are found in it: every place of the picture
    counts for the attribute of the category that suits it best, with a score above the threshold. There may be several, or
    none. What a model says of people is perceived: statistics about how groups are depicted, never claims about a person;
    keep such a column ``WITH (sensitive = true)``.

    Args:
        attributes: Path of the table: ``term``, ``class``, ``level``, and if wanted ``caption``, which is looked for instead
            of ``term``. Another content of the file makes the column stale.
        model: A folder, or a repository of the hub, of ``Owlv2ForObjectDetection``.
        score: Threshold, in [0, 1].

    Call with:
        image: Encoded pictures; NULL gives NULL, one that cannot be decoded is an error of its row.

    Returns:
        For every category: ``attributes``, the highest score first, and ``scores``, for each of its attributes the highest
        probability anywhere in the picture, float32.

    Raises:
        NotFoundError: No such model (E1102, E1103) or table (E1012).
        RequestError: A table (E3720), or a model (E3546), of another kind; an extra is missing (E3501).
        FunctionError: The threshold is out of range (E8116).

    Source:
        Kabra et al., GELDA (2023), object-level attributes: OWLv2 with a score above .3.

    Example:
        ``SELECT image_id, object_attributes(image, 'rooms.csv') FROM images``
    """

    def __init__(self, attributes: str, model: str, score: float) -> None:
        if not 0 <= score <= 1:
            raise FunctionError(f"score {score} is not in [0, 1]", code="E8116")
        self._path, self._model, self._score = attributes, model, score
        self._owl: Owl | None = None
        self._categories: list[Category] = []

    def open(self, device: str) -> None:
        """Load the model, unless there is nothing to look for."""
        self._ahead = Ahead(np.array, device, stack=False)
        self._categories = proposals.of_level(self._path, "object")
        texts = [
            own or attribute
            for category in self._categories
            for attribute, own in zip(category.attributes, category.captions, strict=True)
        ]
        self._at_once = _AT_ONCE[device.partition(":")[0]]
        if self._categories:
            self._owl = Owl(self._model, texts, device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._ahead.expect(image, self._at_once)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the attributes of a batch of pictures."""
        return of_batches(self._ahead, image, self._at_once, self._of, FOUND)

    def _of(self, pictures: list[NDArray[np.uint8]]) -> list[list[dict[str, Any]]]:
        if self._owl is None:
            return [[] for _ in pictures]
        return [self._row(scores) for scores in self._owl.scores(pictures)]

    def _row(self, scores: NDArray[np.float32]) -> list[dict[str, Any]]:
        rows, start = [], 0
        for category in self._categories:
            own = scores[:, start : start + len(category.attributes)]
            start += own.shape[1]
            rows.append(described(category, self._named(category, own), own.max(axis=0)))
        return rows

    def _named(self, category: Category, scores: NDArray[np.float32]) -> list[str]:
        """Return attributes that suit a place best, with a score above the threshold; the highest first."""
        suits = scores.argmax(axis=1)
        best = np.where(np.arange(scores.shape[1]) == suits[:, None], scores, -1).max(axis=0)
        order = np.lexsort((np.arange(len(best)), -best))
        return [category.attributes[i] for i in order if best[i] > self._score]

    def close(self) -> None:
        """Let the model go."""
        self._ahead.close()
        if self._owl is not None:
            self._owl.close()
            self._owl = None
