"""Find attributes of a whole picture, by a model that scores how well a picture and a text go together: ``image_attributes``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs import proposals
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import inference, of_batches
from counterbalance.udfs.models.shared import loading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.proposals import Category

DEFAULT: Final = "Salesforce/blip-itm-large-coco"
FOUND: Final = pa.list_(
    pa.struct(
        [
            ("category", pa.string()),
            ("attributes", pa.list_(pa.string())),
            ("scores", pa.list_(pa.struct([("attribute", pa.string()), ("score", pa.float32())]))),
        ]
    )
)
_PAIRS: Final = {"cpu": 32, "cuda": 512}
"""Pairs of a picture and a text that go through the model at once."""
_AT_ONCE: Final = {"cpu": 4, "cuda": 32}
"""Pictures that are encoded at once."""


def fingerprint(attributes: str, model: str, **_: Any) -> str:
    """Return the digest of a model's weights and of the table of attributes."""
    return f"{weights.digest(weights.folder(model))}:{proposals.digest(attributes)}"


def loaded(name: str, kind: str, network: str, device: str) -> tuple[Any, Any]:
    """Return a model of transformers with its processor.

    Args:
        name: A folder, or a repository of the hub.
        kind: The ``model_type`` that its configuration must name.
        network: The class of transformers that is loaded.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: It is of another kind, or its files do not make a model (E3546).
    """
    path = weights.folder(name)
    transformers: Any = weights.need("transformers", "models")
    torch: Any = weights.need("torch", "models")
    file = path / "config.json"
    found = json.loads(file.read_text("utf-8")).get("model_type") if file.is_file() else None
    if found != kind:
        raise RequestError(f"{name} is of type {found!r}; a model of type {kind!r} is needed", code="E3541")
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with loading(name):
        processor = transformers.AutoProcessor.from_pretrained(path, **safe)
        model = getattr(transformers, network).from_pretrained(path, dtype=torch.float32, **weights.pretrained(path))
    return model.to(device).eval(), processor


class Matching:
    """A BLIP model that tells how well pictures and some texts go together.

    Args:
        model: A folder, or a repository of the hub.
        texts: The texts; padded together, so that nothing else decides their vectors.
        device: ``"cpu"``, ``"cuda:0"`` …
    """

    def __init__(self, model: str, texts: Sequence[str], device: str) -> None:
        self._device = device
        self._model, self._processor = loaded(model, "blip", "BlipForImageTextRetrieval", device)
        longest = int(self._model.config.text_config.max_position_embeddings)
        self._texts = self._processor.tokenizer(
            list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt"
        ).to(device)
        self._meter = Meter("image_attributes", device)

    def scores(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return log-odds that each text goes with each picture, float32 (pictures, texts); a picture is encoded once."""
        torch: Any = weights.need("torch", "models")
        pixels = self._processor.image_processor(pictures, return_tensors="pt", input_data_format="channels_last")
        with self._meter.batch(len(pictures)), inference(self._device):
            seen = self._model.vision_model(pixel_values=pixels["pixel_values"].to(self._device)).last_hidden_state
            made = [self._part(seen, *pairs) for pairs in self._parts(len(pictures))]
        found: NDArray[np.float32] = torch.cat(made).cpu().numpy()
        return found.reshape(len(pictures), -1)

    def _parts(self, pictures: int) -> Iterator[tuple[Any, Any]]:
        """Yield the numbers of pictures, and of texts, of some pairs."""
        torch: Any = weights.need("torch", "models")
        texts = len(self._texts["input_ids"])
        for pairs in torch.arange(pictures * texts, device=self._device).split(_PAIRS[self._device.partition(":")[0]]):
            yield pairs // texts, pairs % texts

    def _part(self, seen: Any, pictures: Any, texts: Any) -> Any:
        """Return log-odds of some pairs: what ``BlipForImageTextRetrieval`` does, on pictures that are encoded already."""
        states = self._model.text_encoder(
            input_ids=self._texts["input_ids"][texts],
            attention_mask=self._texts["attention_mask"][texts],
            encoder_hidden_states=seen[pictures],
            encoder_attention_mask=seen.new_ones((len(pictures), seen.shape[1])),
        ).last_hidden_state
        logits = self._model.itm_head(states[:, 0, :]).float()
        return logits[:, 1] - logits[:, 0]

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()


def words(caption: str, category: Category) -> list[str]:
    """Return what a model is asked for each attribute of a category: its own caption, or the base caption with it.

    Example:
        >>> from counterbalance.udfs.proposals import Category
        >>> words("a photo of a room", Category("lighting", "image", ("dim", "bright"), (None, "a bright room")))
        ['a photo of a room, lighting: dim', 'a bright room']
    """
    pairs = zip(category.attributes, category.captions, strict=True)
    return [own or f"{caption}, {category.name}: {attribute}" for attribute, own in pairs]


@udf(
    returns=FOUND,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("caption", pa.string(), constant=True),
        Parameter("attributes", pa.string(), constant=True),
        Parameter("model", pa.string(), DEFAULT, constant=True),
    ],
    version="1",
    batch_size=512,
    device="auto",
    memory="4GB",
    weights=fingerprint,
)
class image_attributes:  # noqa: N801 - the name of a SQL function
    """Attributes of whole pictures, such as weather or style, that an image-text matching model (BLIP) finds.

    Of every category with level ``image`` a picture has the attribute whose caption goes with it best, if that goes with it
    better than the base caption does; otherwise it has none. What a model says of people is perceived: statistics about how
    groups are depicted, never claims about a person; keep such a column ``WITH (sensitive = true)``.

    Args:
        caption: The base caption: what all the pictures show, such as ``'a photo of a living room'``.
        attributes: Path of the table: ``term``, ``class``, and if wanted ``level`` and ``caption``, which is asked instead of
            ``'<base caption>, <class>: <term>'``. Another content of the file makes the column stale.
        model: A folder, or a repository of the hub, of ``BlipForImageTextRetrieval``.

    Call with:
        image: Encoded pictures; NULL gives NULL, one that cannot be decoded is an error of its row.

    Returns:
        For every category: ``attributes`` (one or none) and ``scores``, for each of its attributes the log-odds that its
        caption goes with the picture minus those of the base caption, float32; above 0 is better. Of equal ones the first in
        the table wins.

    Raises:
        NotFoundError: No such model (E1102, E1103) or table (E1012).
        RequestError: A table (E3720), or a model (E3546), of another kind; an extra is missing (E3501).

    Source:
        Kabra et al., GELDA (2023), image-level attributes: BLIP beside the base caption.

    Example:
        ``SELECT image_id, image_attributes(image, 'a photo of a room', 'rooms.csv') FROM images``
    """

    def __init__(self, caption: str, attributes: str, model: str) -> None:
        self._caption, self._path, self._model = caption, attributes, model
        self._matching: Matching | None = None
        self._categories: list[Category] = []

    def open(self, device: str) -> None:
        """Load the model, unless there is nothing to ask it for."""
        self._ahead = Ahead(np.array, device, stack=False)
        self._categories = proposals.of_level(self._path, "image")
        self._at_once = _AT_ONCE[device.partition(":")[0]]
        texts = [self._caption, *(text for category in self._categories for text in words(self._caption, category))]
        if self._categories:
            self._matching = Matching(self._model, texts, device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._ahead.expect(image, self._at_once)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the attributes of a batch of pictures."""
        return of_batches(self._ahead, image, self._at_once, self._of, FOUND)

    def _of(self, pictures: list[NDArray[np.uint8]]) -> list[list[dict[str, Any]]]:
        if self._matching is None:
            return [[] for _ in pictures]
        scores = self._matching.scores(pictures)
        return [self._row(better) for better in scores[:, 1:] - scores[:, :1]]

    def _row(self, better: NDArray[np.float32]) -> list[dict[str, Any]]:
        rows, start = [], 0
        for category in self._categories:
            own = better[start : start + len(category.attributes)]
            start += len(own)
            best = int(np.argmax(own))
            named = [category.attributes[best]] if own[best] > 0 else []
            rows.append(described(category, named, own))
        return rows

    def close(self) -> None:
        """Let the model go."""
        self._ahead.close()
        if self._matching is not None:
            self._matching.close()
            self._matching = None


def described(category: Category, named: Sequence[str], scores: NDArray[np.float32]) -> dict[str, Any]:
    """Return the attributes of a category that a picture has, and the scores of all of them."""
    pairs = zip(category.attributes, scores.tolist(), strict=True)
    return {
        "category": category.name,
        "attributes": list(named),
        "scores": [{"attribute": attribute, "score": score} for attribute, score in pairs],
    }
