"""Score how likely a picture is not safe for work: a score for the sets of pictures that models made, and a flag that forgets none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import FunctionError, RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models import transformer
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import at_once, inference, taken
from counterbalance.udfs.models.weights import digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

UNSAFE: Final = frozenset({"nsfw", "porn", "hentai", "sexy"})
"""Names of labels, in small letters, whose probabilities add up to the score; any other label counts as safe."""


def _digest(model: str) -> str:
    return digest(folder(model))


@udf(
    returns=pa.float32(),
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("model", pa.string(), "Falconsai/nsfw_image_detection", constant=True),
    ],
    version="1",
    batch_size=512,
    device="auto",
    memory="2GB",
    weights=_digest,
)
class nsfw_score:  # noqa: N801 - its name in SQL
    """How likely a picture is not safe for work: the probability that a classifier gives its labels for that.

    The labels are those named ``nsfw``, ``porn``, ``hentai`` or ``sexy``, in any letter case: the one of two labels of
    ``Falconsai/nsfw_image_detection`` (normal, nsfw), three of the five of models in the manner of NSFWJS (drawings, hentai,
    neutral, porn, sexy). A classifier errs, and more often on some groups than on others: look at what it flags.

    Args:
        model: A folder or repository of the hub with a classifier of pictures with one label each.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL, and a picture that cannot be decoded is an error of its row.

    Returns:
        float32 in [0, 1]: the sum of the softmax over those labels. NULL is no sign of safety: ``nsfw_flagged`` flags it.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: The model has no such label, or no other (E3611), gives independent scores (E3536), is of another kind
            (E3540, E3541), or an extra is missing (E3501).

    Example:
        ``SELECT image_id FROM images WHERE nsfw_flagged(nsfw_score(image))``
    """

    def __init__(self, model: str) -> None:
        self._name = model
        self._meter: Meter | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        transformers: Any = need("transformers", "models")
        path = folder(self._name)
        self._model = transformer.load(path, "IMAGE_CLASSIFICATION", device)
        self._unsafe = _unsafe(self._model.config, self._name)
        self._processor = transformers.AutoImageProcessor.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        self._device, self._rows = device, at_once(device, *taken(self._processor))
        self._ahead = Ahead(np.array, device, stack=False)
        self._meter = Meter("nsfw_score", device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._ahead.expect(image, self._rows)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the scores of a batch."""
        scores = np.zeros(len(image), np.float32)
        missing = np.ones(len(image), bool)
        errors: dict[int, str] = {}
        for rows, pictures, unread in self._ahead.batches(image, self._rows):
            errors |= unread
            if rows:
                scores[rows], missing[rows] = self._scores(pictures), False
        return Partial(pa.array(scores, mask=missing), errors)

    def _scores(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        inputs = self._processor(images=pictures, return_tensors="pt", input_data_format="channels_last")
        meter = self._meter
        assert meter is not None  # noqa: S101 - functions are opened before they are called
        with meter.batch(len(pictures)), inference(self._device):
            logits = self._model(pixel_values=inputs["pixel_values"].to(self._device)).logits
            shares = logits.float().softmax(-1).cpu().numpy()
        scores: NDArray[np.float32] = shares[:, self._unsafe].sum(-1).clip(0, 1)
        return scores

    def close(self) -> None:
        """Tell how fast it was, and let the model go."""
        if self._meter is not None:
            self._meter.close()
            self._ahead.close()
            del self._model
            self._meter = None


def _unsafe(config: Any, model: str) -> list[int]:
    """Return the places of the labels that mean not safe."""
    labels: Mapping[int, str] = config.id2label
    found = sorted(int(place) for place, name in labels.items() if str(name).lower() in UNSAFE)
    if not found or len(found) == len(labels):
        raise RequestError(
            f"{model!r} does not tell safe pictures from others: its labels are {', '.join(map(str, labels.values()))}",
            code="E3611",
            hint=f"a classifier with labels named {', '.join(sorted(UNSAFE))}, and others",
        )
    if config.problem_type == "multi_label_classification":
        raise RequestError(
            f"{model!r} gives scores that are independent of each other, no one label",
            code="E3536",
            hint="take a classifier of one label a picture",
        )
    return found


@udf(
    returns=pa.bool_(),
    parameters=[Parameter("score", pa.float32()), Parameter("threshold", pa.float64(), 0.5, constant=True)],
    version="1",
    batch_size=1 << 16,
)
def nsfw_flagged(score: pa.Array, threshold: float) -> pa.Array:
    """Return whether a picture must not be kept unseen: its score reaches a threshold, or nobody knows its score.

    Args:
        score: Of ``nsfw_score``; NULL (not scored, or not decodable) and NaN are flagged.
        threshold: In [0, 1]; scores from it on are flagged.

    Returns:
        bool, never NULL, so that ``WHERE NOT nsfw_flagged(score)`` keeps only pictures that were looked at.

    Raises:
        FunctionError: The threshold is out of range (E8116).

    Example:
        ``SELECT edit_id, nsfw_flagged(nsfw, threshold := 0.3) AS flagged FROM gensynth_requests``
    """
    if not 0 <= threshold <= 1 or math.isnan(threshold):
        raise FunctionError(
            f"a threshold cannot be {threshold}", code="E8116", hint="0 flags every picture, 1 the surest"
        )
    known = pc.less(score.cast(pa.float64()), threshold)  # false for NaN
    return pc.invert(known.fill_null(False))
