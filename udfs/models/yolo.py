"""A YOLO network of ultralytics, built from its plan and run without ultralytics' predictor.

The predictor keeps settings and runs on disk, tells its makers of each run, and gives up suppressing overlapping boxes after
some time, so that results depend on how busy the machine is. Here only its layers and its arithmetic are used; boxes are
those that ``YOLO(model).predict(picture)`` gives for each picture alone.

ultralytics is under the AGPL-3.0: a program that uses this module is, too.
"""

from __future__ import annotations

import logging
import math
import os
import re
import tempfile
import warnings
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import FunctionError
from counterbalance.udfs import masks
from counterbalance.udfs.models import yolo_files
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST: Final = 300
"""Most boxes of a picture, as in ultralytics."""
_EXTRA: Final = "detect"
_QUIET: Final = {"YOLO_OFFLINE": "true", "YOLO_VERBOSE": "false", "YOLO_AUTOINSTALL": "false"}
_HEADS: Final = {"Detect": False, "v10Detect": False, "Segment": True, "Segment26": True}
_ACTIVATION: Final = re.compile(r"(torch\.)?nn\.(SiLU|ReLU|ReLU6|LeakyReLU|Hardswish|Mish|GELU|Identity)\([\d.]*\)")
_MASK_PIXELS: Final = 64_000_000


@cache
def library() -> SimpleNamespace:
    """Return the parts of ultralytics that are used. Importing it writes nothing that stays, asks no server, prints nothing.

    What it changes of the process (environment, warnings, how numpy and torch print, functions of Pillow, OpenCV and torch
    that it replaces: its ``Image.open`` installs packages) is put back.
    """
    torch: Any = need("torch", _EXTRA)  # before ultralytics, which would make it run in a single thread
    before, replaced = dict(os.environ), _replaced(torch)
    with (
        tempfile.TemporaryDirectory(prefix="counterbalance-") as folder,
        warnings.catch_warnings(),
        np.printoptions(),
    ):
        os.environ.update({"OMP_NUM_THREADS": "1", **before, **_QUIET, "YOLO_CONFIG_DIR": folder})
        try:
            tasks: Any = need("ultralytics.nn.tasks", _EXTRA)
            nms: Any = need("ultralytics.utils.nms", _EXTRA)
            ops: Any = need("ultralytics.utils.ops", _EXTRA)
            utils: Any = need("ultralytics.utils", _EXTRA)
            need("torchvision", _EXTRA)  # where it is loaded its suppression is used, which rounds in its own way
        finally:
            for name in os.environ.keys() - before.keys():
                del os.environ[name]
            os.environ.update(before)
            for (module, name), value in replaced.items():
                setattr(module, name, value)
            torch.set_printoptions(profile="default")
    logger = logging.getLogger("ultralytics")
    logger.handlers.clear()  # they write to stdout
    logger.propagate = True
    logger.setLevel(logging.ERROR)
    return SimpleNamespace(torch=torch, tasks=tasks, nms=nms, ops=ops, root=utils.ROOT)


def _replaced(torch: Any) -> dict[tuple[Any, str], Any]:
    """Restore what ultralytics replaces by functions of its own."""
    names = {
        torch: ("save", "load"),
        need("cv2", _EXTRA): ("imread", "imwrite", "imshow"),
        need("PIL.Image", _EXTRA): ("open",),
    }
    return {(module, name): getattr(module, name) for module, own in names.items() for name in own}


class Network:
    """A detector on a device.

    Args:
        model: As ``yolo_files.locate`` takes it.
        device: ``"cpu"``, ``"cuda:0"`` …

    Attributes:
        names: Name of each class.
        stride: Sides of the pictures that it takes are multiples of it.
    """

    def __init__(self, model: str, device: str) -> None:
        path = yolo_files.locate(model)
        self._held = library()
        checkpoint = yolo_files.read(path)
        self._segments = _checked(checkpoint.plan, model)
        self._device = device
        self._model = self._built(checkpoint, model)
        count = int(checkpoint.plan["nc"])
        self.names = checkpoint.names or self._coco(count)
        if len(self.names) != count:
            raise FunctionError(
                f"detector {model!r} has {count} classes and {len(self.names)} names of them",
                code="E8114",
                hint="write their names into its yaml, as a list named names",
            )
        self.stride = int(self._model.stride.max())

    def find(
        self,
        batch: NDArray[np.uint8],
        shapes: Sequence[tuple[int, int]],
        score: float,
        iou: float,
        classes: Sequence[int] | None,
    ) -> list[list[dict[str, Any]]]:
        """Return boxes in pictures of one shape, as ``Letterbox`` makes them.

        Args:
            batch: uint8 (pictures, height, width, 3).
            shapes: Height and width of each picture as stored.
            score: Boxes with a higher one are kept.
            iou: Of boxes of a class that overlap more, the best one is kept.
            classes: Numbers of the classes that are kept, or all.

        Returns:
            By picture, in descending score: dicts as ``masks.BOXES`` says.
        """
        held = self._held
        taken = held.torch.from_numpy(batch).to(self._device).permute(0, 3, 1, 2).float().div_(255)
        found = self._model(taken)
        first = found[0]
        protos = (first[1] if isinstance(first, tuple) else found[1]) if self._segments else None
        kept = held.nms.non_max_suppression(
            first,
            score,
            iou,
            classes,
            max_det=MOST,
            nc=len(self.names) if self._segments else 0,
            end2end=bool(getattr(self._model, "end2end", False)),
            max_time_img=math.inf,
        )
        return [
            self._boxes(rows.float(), taken.shape[2:], shape, None if protos is None else protos[place])
            for place, (rows, shape) in enumerate(zip(kept, shapes, strict=True))
        ]

    def _boxes(self, rows: Any, inner: Any, shape: tuple[int, int], protos: Any) -> list[dict[str, Any]]:
        corners = self._held.ops.scale_boxes(inner, rows[:, :4].clone(), shape)
        texts = [None] * len(rows) if protos is None else self._masks(protos, rows[:, 6:], corners, shape)
        sides = corners.cpu().numpy()
        scores, numbers = (rows[:, column].cpu().numpy() for column in (4, 5))
        order = np.lexsort((*sides.T, numbers, -scores))
        return [
            {
                "category": self.names[int(numbers[row])],
                "score": scores[row],
                "x": sides[row, 0],
                "y": sides[row, 1],
                "width": sides[row, 2] - sides[row, 0],
                "height": sides[row, 3] - sides[row, 1],
                "mask": texts[row],
            }
            for row in order
            if texts[row] != ""
        ]

    def _masks(self, protos: Any, parts: Any, corners: Any, shape: tuple[int, int]) -> list[str]:
        """Run lengths of each box's mask, empty for a mask without a pixel (ultralytics drops such boxes)."""
        found: list[str] = []
        step = max(1, _MASK_PIXELS // (shape[0] * shape[1]))
        for start in range(0, len(parts), step):
            part = slice(start, start + step)
            stack = self._held.ops.process_mask_native(protos, parts[part], corners[part], shape).cpu().numpy()
            found += [masks.encode(mask) if mask.any() else "" for mask in stack.astype(bool)]
        return found

    def _built(self, checkpoint: yolo_files.Checkpoint, model: str) -> Any:
        held = self._held
        kind = held.tasks.SegmentationModel if self._segments else held.tasks.DetectionModel
        try:
            with held.torch.random.fork_rng(devices=[]):
                network = kind(checkpoint.plan, ch=int(checkpoint.plan.get("channels", 3)), verbose=False)
            network.load_state_dict({name: t.float() for name, t in checkpoint.tensors.items()}, strict=True)
        except Exception as error:
            first = str(error).strip().split("\n")[0][:200]
            raise FunctionError(
                f"weights of detector {model!r} do not fit its plan: {first}",
                code="E8113",
                hint="the plan and the weights must be of one network; a newer ultralytics may know it",
            ) from error
        network = network.fuse(verbose=False).eval().requires_grad_(requires_grad=False)
        network = network.to(self._device, memory_format=held.torch.channels_last)  # faster, and as ultralytics has it
        head = network.model[-1]
        head.forward = self._exact(head.forward)
        return network

    def _exact(self, forward: Any) -> Any:
        """Run the head in float32 also where the rest is not: bfloat16 would leave corners off by two pixels."""
        torch = self._held.torch
        kind = self._device.partition(":")[0]

        def call(inputs: list[Any]) -> Any:
            with torch.autocast(kind, enabled=False):
                return forward([t.float() for t in inputs])

        return call

    def _coco(self, count: int) -> tuple[str, ...]:
        """Return the names of COCO's 80 classes, which networks of 80 classes without names have."""
        if count != 80:
            return ()
        yaml: Any = need("yaml", _EXTRA)
        text = (self._held.root / "cfg" / "datasets" / "coco.yaml").read_text(encoding="utf-8")
        names = yaml.safe_load(text)["names"]
        return tuple(names[number] for number in range(count))


def _checked(plan: dict[str, Any], model: str) -> bool:
    """Return whether a plan is of a network with masks; a plan that names more than layers is refused.

    ultralytics evaluates the name of an activation as Python, and takes whatever it knows by the name of a layer.
    """
    torch, tasks = library().torch, library().tasks
    try:
        layers = [row[2] for row in [*plan["backbone"], *plan["head"]]]
        known = {
            name: getattr(torch.nn, name[3:], None) if name.startswith("nn.") else vars(tasks).get(name)
            for name in layers
        }
        activation = plan.get("activation")
        int(plan["nc"])
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise FunctionError(f"the plan of detector {model!r} cannot be read: {error!r}", code="E8114") from error
    odd = [
        n
        for n, k in known.items()
        if n == "TorchVision" or not (isinstance(k, type) and issubclass(k, torch.nn.Module))
    ]
    if activation is not None and not _ACTIVATION.fullmatch(str(activation)):
        odd.append(str(activation))
    if odd:
        raise FunctionError(f"the plan of detector {model!r} names what is not a layer: {', '.join(odd)}", code="E8114")
    if layers[-1] not in _HEADS:
        raise FunctionError(
            f"{model!r} ends in {layers[-1]}: it finds no boxes, or other ones",
            code="E8114",
            hint="a detection or segmentation model, such as yolo11l or yolo11l-seg",
        )
    return _HEADS[layers[-1]]
