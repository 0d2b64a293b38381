"""Faces in pictures, by OpenCV's YuNet: boxes, and nothing that tells whose face it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import decode
from counterbalance.udfs.masks import BOXES
from counterbalance.udfs.models import weights
from counterbalance.udfs.pictures import each, shrunk

if TYPE_CHECKING:
    from PIL.Image import Image

FACE: Final = "face"
YUNET: Final = "opencv/face_detection_yunet"
_FILE: Final = "face_detection_yunet_2023mar.onnx"
_MOST: Final = 5000
"""Boxes before those that overlap are left out, as in OpenCV's own default."""


def _file(model: str) -> Path:
    local = Path(model).expanduser()
    return local if local.is_file() else weights.file(model, _FILE)


def _digest(model: str, **_: Any) -> str:
    return weights.digest(_file(model))


@udf(
    returns=BOXES,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("model", pa.string(), YUNET, constant=True),
        Parameter("score", pa.float64(), 0.7, constant=True),
        Parameter("iou", pa.float64(), 0.3, constant=True),
        Parameter("size", pa.int64(), 640, constant=True),
    ],
    version="1",
    batch_size=256,
    memory="1GB",
    weights=_digest,
)
class detect_faces:  # noqa: N801 - its name in SQL
    """Faces in pictures: boxes in descending score, by the network YuNet (OpenCV).

    Where faces are, not whose: nothing here compares or names them. Which faces a detector misses may differ by group.

    Args:
        model: A local ``.onnx`` file, or a repository of the hub that has ``face_detection_yunet_2023mar.onnx``.
        score: Boxes with a score in [0, 1] that is not below are kept.
        iou: Of boxes whose intersection / union is larger, the one with the highest score is kept.
        size: Longer side in pixels to which larger pictures are scaled before; YuNet was made for faces of 10 to 300.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL, and a picture that cannot be decoded is an error of its row.

    Returns:
        A list of (category, score, x, y, width, height, mask) a picture, as of ``detect``: category is ``'face'``, boxes are
        in pixels of the picture as stored and end at its edges, mask is NULL.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: An option is out of range (E3051), the file is no YuNet (E3546), or the extra ``faces`` is missing
            (E3501).

    Source: Wu, Peng and Yu, YuNet: a tiny millisecond-level face detector (2023). GenSynth's own code has MTCNN.

    Example:
        ``ALTER TABLE images ADD COLUMN faces AS (detect_faces(image))``
    """

    def __init__(self, model: str, score: float, iou: float, size: int) -> None:
        if not 0 <= score <= 1 or not 0 <= iou <= 1 or size < 32:
            raise RequestError(
                f"score {score}, iou {iou}, size {size} of detect_faces() are out of range",
                code="E3051",
                hint="score and iou are in [0, 1], size is 32 pixels or more",
            )
        self._model, self._score, self._iou, self._size = model, score, iou, size
        self._detector: Any = None

    def open(self, device: str) -> None:  # noqa: ARG002 - OpenCV's network runs on the CPU
        """Load the network."""
        cv2: Any = weights.need("cv2", "faces")
        cv2.setNumThreads(0)
        path = _file(self._model)
        try:
            self._detector = cv2.FaceDetectorYN.create(str(path), "", (32, 32), self._score, self._iou, _MOST)
            self._detector.detect(np.zeros((32, 32, 3), np.uint8))
        except cv2.error as error:
            first = " ".join(str(error).split())[:300]
            raise RequestError(f"{self._model} cannot be loaded: {first}", code="E3546") from error

    def __call__(self, image: pa.Array) -> Partial:
        """Return the boxes of a batch of pictures."""
        return each(lambda data: self._found(decode(data)), BOXES, image)

    def _found(self, picture: Image) -> list[dict[str, Any]]:
        longer = max(picture.size)
        small = (
            picture if longer <= self._size else shrunk(picture, max(1, round(self._size * min(picture.size) / longer)))
        )
        self._detector.setInputSize(small.size)
        _, found = self._detector.detect(np.ascontiguousarray(np.asarray(small)[:, :, ::-1]))
        scale = np.array(picture.size) / small.size
        boxes = []
        for row in [] if found is None else found:
            low = np.clip(row[:2] * scale, 0, picture.size)
            high = np.clip((row[:2] + row[2:4]) * scale, 0, picture.size)
            (x, y), (width, height) = low.tolist(), (high - low).tolist()
            boxes.append(
                {
                    "category": FACE,
                    "score": float(row[14]),
                    "x": x,
                    "y": y,
                    "width": width,
                    "height": height,
                    "mask": None,
                }
            )
        return sorted(boxes, key=lambda b: (-b["score"], b["x"], b["y"], b["width"]))

    def close(self) -> None:
        """Let the network go."""
        self._detector = None
