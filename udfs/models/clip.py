"""CLIP models as functions (open_clip): vectors of pictures and texts, how well both fit, and classes without training.

A model is named by open_clip's ``name/pretrained`` (``ViT-B-32/laion2b_s34b_b79k``), by ``name/PATH`` of a checkpoint, by
``hf-hub:owner/repository``, or by a folder with ``open_clip_config.json`` and its weights. ``embed_image`` takes vision
models of transformers (``vision``), too. Within a process a model is loaded once, whichever of these functions use it.

Pictures and texts are prepared as open_clip prepares them; on a CPU all is float32, on a GPU matrices are bfloat16. A
result does not depend on the rows that share its batch, beyond the rounding of matrix products of other shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models import vision
from counterbalance.udfs.models.clip_model import MODELS, Clip
from counterbalance.udfs.models.clip_names import Named, named
from counterbalance.udfs.models.running import rows_of, vectors
from counterbalance.udfs.models.shared import Borrower, Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DEFAULT: Final = "ViT-B-32/laion2b_s34b_b79k"
TEMPLATES: Final = ("a photo of a {}.",)
_ZERO_SHOT: Final = pa.struct([("label", pa.string()), ("score", pa.float32()), ("scores", pa.list_(pa.float32()))])
_BATCH: Final = 1024
_MEMORY: Final = "4GB"
_MODEL: Final = Parameter("model", pa.string(), DEFAULT, constant=True)
_DROP: Final = Parameter("drop", pa.list_(pa.int32()), None, constant=True)


def _of_texts(model: str, drop: Sequence[int] | None = None) -> pa.DataType:
    """Return the type of a model's vectors, from its configuration alone."""
    return pa.list_(pa.float32(), int(_kept(model, named(model).width, drop).sum()))


def _of_pictures(model: str, drop: Sequence[int] | None = None) -> pa.DataType:
    """Return the type of a model's vectors, from its configuration alone."""
    return pa.list_(pa.float32(), int(_kept(model, _seeing(model).width, drop).sum()))


def _seeing(model: str) -> Named | vision.Named:
    """Return a model that has vectors of pictures, of transformers or of open_clip."""
    return vision.named(model) or named(model)


def _kept(model: str, width: int, drop: Sequence[int] | None) -> NDArray[np.bool_]:
    """Return which dimensions stay."""
    dropped = [] if drop is None else drop
    whole = isinstance(dropped, list) and all(type(d) is int and 0 <= d < width for d in dropped)
    if not whole or len(set(dropped)) == width:
        raise RequestError(
            f"drop cannot be {drop!r}", code="E3051", hint=f"a list of dimensions of {model}: some of 0 to {width - 1}"
        )
    kept = np.ones(width, bool)
    kept[list(dropped)] = False
    return kept


def _digest(model: str, **_: Any) -> str:
    return named(model).digest()


def _digest_seeing(model: str, **_: Any) -> str:
    return _seeing(model).digest()


class _Model(Borrower[Clip]):
    """What the functions share: a model that is loaded once a process."""

    def __init__(self, model: str = DEFAULT, drop: Sequence[int] | None = None) -> None:
        found = self._named(model)
        seeing: Shared[Any] = vision.MODELS if isinstance(found, vision.Named) else MODELS
        super().__init__(seeing, model)  # a Vision has all that embed_image calls
        self.kept = _kept(model, found.width, drop)

    @staticmethod
    def _named(model: str) -> Named | vision.Named:
        return named(model)

    def coming(self, images: pa.Array) -> None:
        """Return pictures that ``images`` will be given the time after next."""
        if self.device != "cpu":
            self.loaded.expect(_different(images)[0])

    def images(self, images: pa.Array) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
        """Return unit vectors by row number, and reasons of rows whose picture cannot be read; equal pictures are computed once."""
        different, places = _different(images)
        found, unread = self.loaded.images(different)
        of = dict(zip(found, self.unit(np.stack(list(found.values()))), strict=True)) if found else {}
        there = {row: of[place] for row, place in places.items() if place in of}
        return there, {row: unread[place] for row, place in places.items() if place in unread}

    def texts(self, texts: pa.Array) -> dict[int, NDArray[np.float32]]:
        """Return unit vectors by row number; equal texts are computed once."""
        different, places = _different(texts)
        if not places:
            return {}
        found = self.unit(self.loaded.texts(different.to_pylist()))
        return {row: found[place] for row, place in places.items()}

    def unit(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors without the dropped dimensions, and of length 1."""
        found = found[:, self.kept]
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found, dtype=np.float64))
        result: NDArray[np.float32] = (found / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
        return result


def _where(valid: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(valid, values, pa.scalar(None, values.type))


def _different(values: pa.Array) -> tuple[pa.Array, dict[int, int]]:
    """Return the different values, and the place in them of every row that is not NULL."""
    coded = values.dictionary_encode()
    places = coded.indices.to_pylist()
    return coded.dictionary, {row: place for row, place in enumerate(places) if place is not None}


@udf(
    returns=_of_pictures,
    parameters=[Parameter("image", pa.binary()), _MODEL, _DROP],
    version="1",
    batch_size=_BATCH,
    device="auto",
    memory=_MEMORY,
    weights=_digest_seeing,
)
class embed_image(_Model):  # noqa: N801 - the name of a SQL function
    """Vector of a picture by a CLIP model: a unit vector that is near those of texts that describe it (open_clip).

    By a vision model of transformers (ViT, DINO, DINOv2, DINOv3), a folder or a repository such as ``'facebook/dino-vitb16'``,
    it is that of the class token of the last layer, of length 1; such a model has no vectors of texts.

    ``drop`` takes dimensions out before the vector gets length 1 again: CLIP-clip (Wang, Liu and Wang 2021, "Are
    Gender-Neutral Queries Really Gender-Neutral?", section 4.2) drops those with the highest mutual information with a
    label; ``telling_dimensions`` finds them, and the recipe ``clip_clip`` drops them. Queries need the same ``drop``.

    Args:
        model: Which model.
        drop: Numbers of dimensions, from 0.

    Example:
        ``ALTER TABLE images ADD COLUMN embedding AS (embed_image(image, 'ViT-B-16/laion2b_s34b_b88k'))``
    """

    @staticmethod
    def _named(model: str) -> Named | vision.Named:
        return _seeing(model)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self.coming(image)

    def __call__(self, image: pa.Array) -> Partial:
        """Return fixed-size lists of float32; a picture that cannot be read is an error of its row."""
        found, errors = self.images(image)
        return vectors(found, errors, len(image), pa.list_(pa.float32(), int(self.kept.sum())))


@udf(
    returns=_of_texts,
    parameters=[Parameter("text", pa.string()), _MODEL, _DROP],
    version="1",
    batch_size=_BATCH,
    device="auto",
    memory=_MEMORY,
    weights=_digest,
)
class embed_text(_Model):  # noqa: N801 - the name of a SQL function
    """Vector of a text by a CLIP model: a unit vector that is near those of pictures it describes (open_clip).

    A text is cut at the length of the model's context (77 tokens for most).

    Args:
        model: Which model.
        drop: Numbers of dimensions that are taken out, as for ``embed_image``.

    Example:
        ``SELECT embed_text('a doctor with a patient', 'ViT-B-16/laion2b_s34b_b88k')``
    """

    def __call__(self, text: pa.Array) -> Partial:
        """Return fixed-size lists of float32."""
        return vectors(self.texts(text), {}, len(text), pa.list_(pa.float32(), int(self.kept.sum())))


@udf(
    returns=pa.float32(),
    parameters=[Parameter("image", pa.binary()), Parameter("text", pa.string()), _MODEL],
    version="1",
    batch_size=_BATCH,
    device="auto",
    memory=_MEMORY,
    weights=_digest,
)
class clip_score(_Model):  # noqa: N801 - the name of a SQL function
    """How well a text fits a picture: the cosine of their vectors by a CLIP model, -1 to 1 (open_clip).

    CLIPScore (Hessel et al. 2021) is 2.5 times this where it is above 0.

    Args:
        model: Which model.

    Example:
        ``SELECT caption_id FROM captions JOIN images USING (image_id) WHERE clip_score(image, text) < 0.2``
    """

    def expect(self, image: pa.Array, text: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self.coming(_where(text.is_valid(), image))

    def __call__(self, image: pa.Array, text: pa.Array) -> Partial:
        """Return float32; NULL where the picture or the text is."""
        seen, errors = self.images(_where(text.is_valid(), image))
        read = self.texts(_where(image.is_valid(), text))
        found = {row: float(np.dot(v.astype(np.float64), read[row].astype(np.float64))) for row, v in seen.items()}
        return rows_of(found, errors, len(image), pa.float32())


def _zero_shot(labels: Sequence[str], templates: Sequence[str] = TEMPLATES, model: str = DEFAULT) -> pa.DataType:
    """Return the type of a classification, once its arguments are checked."""
    del model
    for name, values in (("labels", labels), ("templates", templates)):
        if isinstance(values, str) or not values or not all(isinstance(v, str) and v.strip() for v in values):
            raise RequestError(
                f"{name} cannot be {values!r}", code="E3051", hint=f"a list of texts: {name} := ['…', '…']"
            )
    if len(set(labels)) < len(labels):
        raise RequestError("labels holds a label twice", code="E3051", hint="give each once")
    odd = next((t for t in templates if "{}" not in t), None)
    if odd is not None:
        raise RequestError(
            f"template {odd!r} has no {{}} for the label", code="E3051", hint=f"such as {TEMPLATES[0]!r}"
        )
    return _ZERO_SHOT


@udf(
    returns=_zero_shot,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("labels", pa.list_(pa.string()), constant=True),
        Parameter("templates", pa.list_(pa.string()), TEMPLATES, constant=True),
        _MODEL,
    ],
    version="1",
    batch_size=_BATCH,
    device="auto",
    memory=_MEMORY,
    weights=_digest,
)
class classify_zero_shot(_Model):  # noqa: N801 - the name of a SQL function
    """Which label a picture is nearest to by a CLIP model, without training (open_clip; Radford et al. 2021, section 3.1).

    The vector of a label is the mean of the unit vectors of its sentences, one a template. ``scores`` are a softmax of
    the cosines times the model's own temperature: shares among these labels, no probabilities that one of them is true.
    Labels of people are perceived: they tell how somebody is depicted, and nothing about who they are.

    Args:
        labels: Such as ``['dog', 'cat']``.
        templates: Sentences with ``{}`` where the label stands.
        model: Which model.

    Example:
        ``SELECT classify_zero_shot(image, ['indoors', 'outdoors'], ['a photo taken {}.']).label FROM images``
    """

    def __init__(self, labels: Sequence[str], templates: Sequence[str] = TEMPLATES, model: str = DEFAULT) -> None:
        _zero_shot(labels, templates, model)
        super().__init__(model)
        self._labels, self._templates = list(labels), list(templates)
        self._classes: NDArray[np.float32] | None = None

    def open(self, device: str) -> None:
        """Load the model and compute the vectors of the labels."""
        super().open(device)
        sentences = [t.replace("{}", label) for label in self._labels for t in self._templates]
        try:
            found = self.unit(self.loaded.texts(sentences))
        except BaseException:
            self.close()
            raise
        self._classes = self.unit(found.reshape(len(self._labels), len(self._templates), -1).mean(axis=1))

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self.coming(image)

    def __call__(self, image: pa.Array) -> Partial:
        """Return structs of the label, its score in [0, 1], and all scores in the order of ``labels``."""
        found, errors = self.images(image)
        return rows_of({row: self._scored(v) for row, v in found.items()}, errors, len(image), _ZERO_SHOT)

    def _scored(self, vector: NDArray[np.float32]) -> dict[str, Any]:
        assert self._classes is not None  # noqa: S101 - functions are opened before they are called
        logits = self.loaded.scale * (self._classes.astype(np.float64) @ vector.astype(np.float64))
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        best = int(shares.argmax())
        return {"label": self._labels[best], "score": shares[best], "scores": shares.tolist()}
