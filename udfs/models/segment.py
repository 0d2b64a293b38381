"""Masks of what lies in a box, by the Segment Anything Models (SAM, SAM 2) of transformers."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs import masks
from counterbalance.udfs.models import transformer
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import inference, rows_of
from counterbalance.udfs.models.weights import digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_AT_ONCE: Final = {"cpu": 1, "cuda": 8}
"""Pictures that go through the encoder at once."""
_PIXELS: Final = 1 << 26
"""Pixels of masks that are held at once."""
_PROCESSORS: Final = {"sam": "SamProcessor", "sam2": "Sam2Processor", "sam2_video": "Sam2Processor"}
"""By model type; checkpoints of SAM 2 say that they are of videos, and are of pictures too."""
_SIDES: Final = ("x", "y", "width", "height")


def _digest(model: str) -> str:
    return digest(folder(model))


@udf(
    returns=pa.string(),
    parameters=[
        Parameter("image", pa.binary()),
        *(Parameter(name, pa.float64()) for name in _SIDES),
        Parameter("model", pa.string(), "facebook/sam-vit-huge", constant=True),
    ],
    version="1",
    batch_size=64,
    device="auto",
    memory="8GB",
    weights=_digest,
)
class segment_person:  # noqa: N801 - its name in SQL
    """The mask of whom, or what, a box holds: which pixels of the picture belong to it, as ``detections.mask`` has them.

    Of the three masks that the model proposes for a box, the one whose overlap with the truth (IoU) it rates highest. It may
    reach out of the box, and never out of the picture. The model knows no people: it takes what stands out in the box, so
    give it a person's.

    A picture is encoded once for all of its boxes in a batch. On a GPU the encoder runs in bfloat16; boxes and masks are
    float32 everywhere. The rows that share a batch change a result by no more than the rounding of floating-point numbers.

    Args:
        model: A folder or repository of the hub with a SAM: ``'facebook/sam-vit-base'``, ``-large`` or ``-huge``; or a SAM 2:
            ``'facebook/sam2.1-hiera-large'``, ``-base-plus``, ``-small`` or ``-tiny``.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL.
        x: Left edges in pixels of the picture as stored; NULL in any edge gives NULL, and a box outside of the picture is an
            error of its row.
        y: Top edges.
        width: Pixels.
        height: Pixels.

    Returns:
        JSON text of COCO's packed run lengths, (height, width) as the picture. A picture that cannot be decoded, and a box in
        which nothing is found, are errors of their rows.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: The model is no SAM (E3541), or an extra is missing (E3501).

    Source: A. Kirillov et al., Segment Anything (2023), section 3: prompts by box, the mask of the highest predicted IoU; N. Ravi et al., SAM 2 (2024).

    Example:
        ``SELECT segment_person(i.image, d.x, d.y, d.width, d.height) FROM detections AS d JOIN images AS i USING (image_id)``
    """

    def __init__(self, model: str) -> None:
        self._name = model
        self._meter: Meter | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        transformers: Any = need("transformers", "models")
        path = folder(self._name)
        processor = getattr(transformers, _PROCESSORS[_type(path)])
        self._model = transformer.load(path, "MASK_GENERATION", device)
        self._processor = processor.from_pretrained(path, local_files_only=True)
        self._device = device
        self._ahead = Ahead(np.array, device, stack=False)
        self._meter = Meter("segment_person", device)

    def __call__(self, image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array) -> Partial:
        """Return the masks of a batch."""
        rows = _by_picture(image, (x, y, width, height))
        boxes = np.column_stack([side.to_numpy(zero_copy_only=False) for side in (x, y, width, height)])
        found: dict[int, str] = {}
        errors: dict[int, str] = {}
        at_once = _AT_ONCE[self._device.partition(":")[0]]
        for places, pictures, unread in self._ahead.batches(pa.array(list(rows), pa.binary()), at_once):
            members = list(rows.values())
            errors |= {row: why for place, why in unread.items() for row in members[place]}
            asked = [
                _corners(picture, members[place], boxes, errors)
                for place, picture in zip(places, pictures, strict=True)
            ]
            for row, mask in self._masks(pictures, asked):
                if mask.any():
                    found[row] = masks.encode(mask)
                else:
                    errors[row] = "nothing is found in the box"
        return rows_of(found, errors, len(image), pa.string())

    def _masks(
        self, pictures: Sequence[Pixels], asked: Sequence[Mapping[int, Sequence[float]]]
    ) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yield masks, bool (height, width), of the boxes by row of each picture."""
        kept = [(picture, boxes) for picture, boxes in zip(pictures, asked, strict=True) if boxes]
        if not kept:
            return
        torch: Any = need("torch", "models")
        inputs = self._processor(
            images=[picture for picture, _ in kept], return_tensors="pt", input_data_format="channels_last"
        )
        meter = self._meter
        assert meter is not None  # noqa: S101 - functions are opened before they are called
        with meter.batch(len(kept)), inference(self._device):
            embedded = self._model.get_image_embeddings(inputs["pixel_values"].to(self._device))
        levels = embedded if isinstance(embedded, (list, tuple)) else [embedded]  # SAM 2 has several, finer ones first
        shapes = inputs.get("reshaped_input_sizes")  # SAM 2 keeps no proportions
        for place, (picture, boxes) in enumerate(kept):
            high, wide = picture.shape[:2]
            step = max(1, _PIXELS // (high * wide))
            own = [level[place : place + 1].float() for level in levels]
            scaled = inputs["pixel_values"].shape[-2:] if shapes is None else shapes[place].tolist()
            more = {} if shapes is None else {"reshaped_input_sizes": [scaled]}
            for start in range(0, len(boxes), step):
                part = list(boxes)[start : start + step]
                with torch.inference_mode():
                    low = self._best(own, [boxes[row] for row in part], (high, wide), scaled)
                    whole = self._processor.post_process_masks([low], [[high, wide]], **more)[0]
                yield from zip(part, whole[:, 0].cpu().numpy(), strict=True)

    def _best(
        self, embedded: Sequence[Any], corners: Sequence[Sequence[float]], size: Sequence[int], scaled: Sequence[int]
    ) -> Any:
        """Return logits, (boxes, 1, height, width) at the model's own size, of the best mask of each box."""
        torch: Any = need("torch", "models")
        scale = np.array([scaled[1] / size[1], scaled[0] / size[0]] * 2)
        asked = torch.from_numpy((np.array(corners) * scale).astype(np.float32))[None].to(self._device)
        answer = self._model(
            image_embeddings=embedded if len(embedded) > 1 else embedded[0], input_boxes=asked, multimask_output=True
        )
        best = answer.iou_scores[0].argmax(-1)
        return answer.pred_masks[0, torch.arange(len(corners), device=best.device), best][:, None]

    def close(self) -> None:
        """Tell how fast it was, and let the model go."""
        if self._meter is not None:
            self._meter.close()
            self._ahead.close()
            del self._model
            self._meter = None


def _type(path: Path) -> str:
    file = path / "config.json"
    found = json.loads(file.read_text("utf-8")).get("model_type") if file.is_file() else None
    if found not in _PROCESSORS:
        raise RequestError(
            f"{path} is no SAM: its model type is {found!r}",
            code="E3541",
            hint=f"such are {transformer.NATIVE['MASK_GENERATION']}",
        )
    return str(found)


def _by_picture(image: pa.Array, sides: Sequence[pa.Array]) -> dict[bytes, list[int]]:
    """Return rows that have a picture and a whole box, by picture."""
    found: dict[bytes, list[int]] = {}
    for row in range(len(image)):
        if image[row].is_valid and all(side[row].is_valid for side in sides):
            found.setdefault(image[row].as_py(), []).append(row)
    return found


def _corners(
    picture: Pixels, rows: Sequence[int], boxes: NDArray[np.float64], errors: dict[int, str]
) -> dict[int, tuple[float, float, float, float]]:
    """Return left, top, right and bottom by row, within the picture; why there are none goes to ``errors``."""
    high, wide = picture.shape[:2]
    found = {}
    for row in rows:
        x, y, width, height = boxes[row].tolist()
        left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + width, wide), min(y + height, high)
        if all(map(math.isfinite, (x, y, width, height))) and left < right and top < bottom:
            found[row] = left, top, right, bottom
        else:
            errors[row] = (
                f"no box in a picture of {wide} x {high}: x {x:g}, y {y:g}, width {width:g}, height {height:g}"
            )
    return found
