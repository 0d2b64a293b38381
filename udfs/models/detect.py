"""Objects and people in pictures, by the YOLO networks of ultralytics.

ultralytics is under the AGPL-3.0: a program that uses these functions is, too. Boxes are what a network takes for an object,
with a score that says how sure it is; which it misses is asked by the audit ``detection_recall``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import FunctionError, NotFoundError, did_you_mean
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.masks import BOXES
from counterbalance.udfs.models import yolo_files
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import inference, rows_of
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.models.yolo import Network

    Prepared = tuple[int, NDArray[np.uint8], tuple[int, int]]
    from PIL.Image import Image

PERSON: Final = "person"
_PIXELS: Final = 16 * 640 * 640
"""Pixels that go through the network at once."""
_AT_ONCE: Final = 16
_LARGEST: Final = 4096
_IMAGE: Final = Parameter("image", pa.binary())
_MODEL: Final = Parameter("model", pa.string(), "yolo11l", constant=True)
_CLASSES: Final = Parameter("classes", pa.list_(pa.string()), None, constant=True)
_OPTIONS: Final = (
    Parameter("score", pa.float64(), 0.25, constant=True),
    Parameter("iou", pa.float64(), 0.7, constant=True),
    Parameter("size", pa.int64(), 640, constant=True),
)


_GREY: Final = 114


class Letterbox:
    """Scales a picture and puts grey around it, as ultralytics' ``LetterBox(auto=True)`` does.

    Args:
        size: Longer side in pixels, rounded up to the stride.
        stride: Sides become multiples of it.
    """

    def __init__(self, size: int, stride: int) -> None:
        self._side, self._stride = math.ceil(size / stride) * stride, stride

    def __call__(self, picture: Image | NDArray[np.uint8]) -> tuple[NDArray[np.uint8], tuple[int, int]]:
        """Return the picture, and its height and width before.

        Args:
            picture: RGB; as an array uint8 (height, width, 3).

        Returns:
            uint8 (height, width, 3), and (height, width) of the picture as stored.
        """
        pixels = np.asarray(picture)
        high, wide = pixels.shape[:2]
        scale = self._side / max(high, wide)
        inner_high, inner_wide = max(round(high * scale), 1), max(round(wide * scale), 1)
        if (inner_high, inner_wide) != (high, wide):
            cv2 = _cv2()
            pixels = cv2.resize(pixels, (inner_wide, inner_high), interpolation=cv2.INTER_LINEAR)
        below, beside = (self._side - inner_high) % self._stride, (self._side - inner_wide) % self._stride
        top, left = round(below / 2 - 0.1), round(beside / 2 - 0.1)
        framed = np.full((inner_high + below, inner_wide + beside, 3), _GREY, np.uint8)
        framed[top : top + inner_high, left : left + inner_wide] = pixels
        return framed, (high, wide)


@cache
def _cv2() -> Any:
    """Return OpenCV in one thread, as ultralytics sets it: processes that decode are one a core."""
    cv2: Any = need("cv2", "detect")
    cv2.setNumThreads(0)
    return cv2


def _digest(model: str, **_: Any) -> str:
    return yolo_files.digest(model)


@udf(
    returns=BOXES,
    parameters=[_IMAGE, _MODEL, _CLASSES, *_OPTIONS],
    version="1",
    batch_size=256,
    device="auto",
    memory="4GB",
    weights=_digest,
)
class detect:  # noqa: N801 - its name in SQL
    """Objects in pictures: boxes in descending score, with masks if the model is one of segmentation.

    A picture gets the boxes that ``YOLO(model).predict`` gives for it alone; which others share its batch does not matter
    but for the rounding of floating-point numbers. On a GPU the network runs in bfloat16, its head in float32.

    Args:
        model: A name such as ``'yolo11l'`` or ``'yolo11l-seg'``, a ``.pt`` checkpoint of ultralytics, or a ``.safetensors``
            file with its ``.yaml`` beside it.
        classes: Names of classes that are kept, such as ``['person', 'dog']``; NULL keeps all.
        score: Boxes with a higher score in [0, 1] are kept.
        iou: Of boxes of a class whose intersection / union is larger, the one with the highest score is kept.
        size: Longer side in pixels to which pictures are scaled before.

    Returns:
        A list of (category, score, x, y, width, height, mask) a picture, at most 300; boxes in pixels of the picture as
        stored, float32; masks as COCO's packed run lengths in JSON, as ``detections.mask``. NULL for NULL; a picture that
        cannot be decoded is an error of its row.

    Raises:
        NotFoundError: No such model (E1111), or class (E1115).
        RequestError: ultralytics is not installed.
        FunctionError: An option is out of range (E8116), or the weights cannot be loaded (E8112, E8113, E8114).

    Source: ultralytics YOLO11 (2024); Girrbach et al., person annotations of LAION-400M (2025), find people with YOLO11-l.

    Example:
        ``ALTER TABLE images ADD COLUMN objects AS (detect(image, classes := ['person', 'dog'], score := 0.4))``
    """

    def __init__(self, model: str, classes: Sequence[str] | None, score: float, iou: float, size: int) -> None:
        if not 0 <= score <= 1 or not 0 <= iou <= 1 or not 32 <= size <= _LARGEST:
            raise FunctionError(
                f"score {score}, iou {iou}, size {size}: out of range",
                code="E8116",
                hint=f"score and iou are in [0, 1], size in 32 … {_LARGEST} pixels",
            )
        self._model, self._classes, self._score, self._iou, self._size = model, classes, score, iou, size
        self._network: Network | None = None
        self._numbers: list[int] | None = None

    def open(self, device: str) -> None:
        """Load the network."""
        from counterbalance.udfs.models.yolo import Network

        self._device = device
        self._network = Network(self._model, device)
        self._ahead = Ahead(Letterbox(self._size, self._network.stride), device, stack=False)
        self._meter = Meter("detect", device)
        if self._classes is not None:
            self._numbers = [_number(name, self._network.names, self._model) for name in self._classes]

    def expect(self, image: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        self._ahead.expect(image, _AT_ONCE)

    def __call__(self, image: pa.Array) -> Partial:
        """Return the boxes of a batch of pictures."""
        network = self._network
        assert network is not None  # noqa: S101 - opened before it is called
        waiting: dict[tuple[int, ...], list[Prepared]] = defaultdict(list)
        found: dict[int, list[dict[str, Any]]] = {}
        errors: dict[int, str] = {}
        for rows, pictures, unread in self._ahead.batches(image, _AT_ONCE):
            errors |= unread
            for row, (pixels, shape) in zip(rows, pictures, strict=True):
                group = waiting[pixels.shape]
                group.append((row, pixels, shape))
                if len(group) >= max(1, _PIXELS // (pixels.shape[0] * pixels.shape[1])):
                    found |= self._found(network, waiting.pop(pixels.shape))
        for _, group in sorted(waiting.items()):
            found |= self._found(network, group)
        return rows_of(found, errors, len(image), BOXES)

    def _found(self, network: Network, group: Sequence[Prepared]) -> dict[int, list[dict[str, Any]]]:
        numbers, arrays, shapes = zip(*group, strict=True)
        batch = np.stack(arrays)
        with self._meter.batch(len(batch), batch.size), inference(self._device):
            boxes = network.find(batch, shapes, self._score, self._iou, self._numbers)
        return dict(zip(numbers, boxes, strict=True))

    def close(self) -> None:
        """Tell how fast it was, and let the network go."""
        if self._network is not None:
            self._network = None
            self._ahead.close()
            self._meter.close()


@udf(
    returns=BOXES,
    parameters=[_IMAGE, _MODEL, *_OPTIONS],
    version="1",
    batch_size=256,
    device="auto",
    memory="4GB",
    weights=_digest,
)
class detect_people(detect):  # noqa: N801 - its name in SQL
    """People in pictures: ``detect`` with the class person alone.

    Example:
        ``ALTER TABLE images ADD COLUMN people AS (detect_people(image))``
    """

    def __init__(self, model: str, score: float, iou: float, size: int) -> None:
        super().__init__(model, [PERSON], score, iou, size)


def _number(name: str, names: Sequence[str], model: str) -> int:
    if name in names:
        return list(names).index(name)
    raise NotFoundError(
        f"detector {model!r} knows no class {name!r}{did_you_mean(name, names)}",
        code="E1115",
        hint="classes: " + ", ".join(names[:100]),
    )
