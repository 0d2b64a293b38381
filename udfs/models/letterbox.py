"""Pictures as a detector takes them: scaled to a longer side, with grey around; done where pictures are decoded."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

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
        """The picture, and its height and width before.

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
    """OpenCV in one thread, as ultralytics sets it: processes that decode are one a core."""
    cv2: Any = need("cv2", "detect")
    cv2.setNumThreads(0)
    return cv2
