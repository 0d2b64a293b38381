"""``label_person``: what a fine-tuned classifier, or a multimodal language model, sees in the picture of one person.

Perceived labels are statistics about how groups are depicted, never claims about a person.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models import asked_person, classifier, weights
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import at_once, inference, rows_of
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from counterbalance.udfs.models.classifier import Checkpoint

RESULT: Final = pa.struct([("label", pa.string()), ("score", pa.float32()), ("logits", pa.list_(pa.float32()))])


LABELLERS: Final = ("classifier", "model")


def _digest(attribute: str, checkpoint: str, labeller: str = "classifier") -> str:
    if _is_asked(labeller):
        return asked_person.digest(attribute, checkpoint)
    return weights.digest(_checked(attribute, checkpoint).folder)


def _is_asked(labeller: str) -> bool:
    if labeller not in LABELLERS:
        raise RequestError(
            f"the labeller of label_person() cannot be {labeller!r}{did_you_mean(labeller, LABELLERS)}",
            code="E3051",
            hint="labellers: " + ", ".join(LABELLERS),
        )
    return labeller == "model"


def _checked(attribute: str, checkpoint: str) -> Checkpoint:
    found = classifier.checkpoint(Path(checkpoint))
    if found.attribute != attribute:
        raise RequestError(
            f"the classifier in {checkpoint} tells {found.attribute!r}, not {attribute!r}",
            code="E3558",
            hint=f"ask for {found.attribute!r}, or name the folder of another classifier",
        )
    return found


@udf(
    returns=RESULT,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("attribute", pa.string(), constant=True),
        Parameter("checkpoint", pa.string(), constant=True),
        Parameter("labeller", pa.string(), default="classifier", constant=True),
    ],
    version="1",
    batch_size=256,
    device="auto",
    memory="2GB",
    weights=_digest,
)
class label_person:  # noqa: N801 - its name in SQL
    """Perceived attribute of the person in a crop, by a classifier of yours or a model: how somebody is depicted, never who one is.

    ``label_person(crop(image, x, y, width, height), 'perceived_gender', 'gender/')`` gives a struct: ``label``, ``score`` (the
    softmax probability of the label, in [0, 1], as well calibrated as the model card says) and ``logits``, one a class in the
    order of ``classes`` in the folder's ``config.json``. Equal logits give the class that comes first. Results of a row do
    not depend on the others of its batch beyond float rounding. Source: Girrbach et al. (2025), section 3.

    With labeller ``'model'`` a multimodal language model is asked, as ``ask`` asks, what ``label_prompt`` and
    ``label_options`` say; score and logits are NULL. The same source labels so what a generator depicts (section 5).

    Args:
        attribute: What the classifier must tell, such as ``'perceived_gender'``.
        checkpoint: A folder that ``counterbalance train classifier`` wrote, whose weights are read from safetensors only; or a
            model, as for ``ask``.
        labeller: Which of both the checkpoint is, ``'classifier'`` or ``'model'``.

    Raises:
        NotFoundError: There is no such folder (E1155), or no such model (E1102, E1103).
        RequestError: It holds no classifier (E3556), or one of another attribute (E3558); as ``ask``; there is no such
            labeller, or no question about the attribute (E3051).
    """

    def __init__(self, attribute: str, checkpoint: str, labeller: str = "classifier") -> None:
        self._by: _Classified | asked_person.Asked
        if _is_asked(labeller):
            self._by = asked_person.Asked(attribute, checkpoint, RESULT)
        else:
            self._by = _Classified(_checked(attribute, checkpoint))

    def open(self, device: str) -> None:
        """Load the weights."""
        self._by.open(device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._by.expect(image)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the labels of encoded pictures; NULL gives NULL, a picture that cannot be read fails alone."""
        return self._by(image)

    def close(self) -> None:
        """Let the model and the processes go."""
        self._by.close()


class _Classified:
    """A classifier, and pictures that are decoded while it works."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def open(self, device: str) -> None:
        """Load the weights."""
        self.device = device
        self.model: Any = self.checkpoint.load(device)
        self.rows = at_once(device, self.checkpoint.preparation.height, self.checkpoint.preparation.width)
        self.ahead = Ahead(self.checkpoint.preparation, device)
        self.meter = Meter("label_person", device)

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self.ahead.expect(image, self.rows)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the labels of encoded pictures; NULL gives NULL, a picture that cannot be read fails alone."""
        found: dict[int, dict[str, Any]] = {}
        errors: dict[int, str] = {}
        for rows, pixels, unread in self.ahead.batches(image, self.rows):
            errors |= unread
            if pixels is not None:
                found |= dict(zip(rows, self._ask(pixels), strict=True))
        return rows_of(found, errors, len(image), RESULT)

    def _ask(self, pixels: Any) -> list[dict[str, Any]]:
        torch: Any = need("torch", "models")
        with inference(self.device):
            given = torch.from_numpy(np.require(pixels, requirements="W")).to(self.device)
            batch = self.checkpoint.preparation.tensor(given)
            with self.meter.batch(len(pixels)):
                logits = self.model(batch).float()
            chances = logits.softmax(1)
            best = chances.argmax(1)
            score = chances.gather(1, best[:, None])[:, 0]
            rows = zip(best.tolist(), score.tolist(), logits.tolist(), strict=True)
        return [{"label": self.checkpoint.classes[i], "score": s, "logits": row} for i, s, row in rows]

    def close(self) -> None:
        """Let the model and the processes go."""
        self.ahead.close()
        self.meter.close()
        del self.model
