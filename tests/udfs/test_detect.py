"""detect, detect_people: the boxes and masks that ultralytics itself finds, from files that cannot run anything."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image
from pycocotools import mask as coco_masks
from repeats import again, chosen

import counterbalance as cb
from counterbalance.engine.errors import FunctionError, NotFoundError, RequestError
from counterbalance.engine.functions import functions

torch = pytest.importorskip("torch")
if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process, unless our module does it
    pytest.skip("ultralytics is not installed", allow_module_level=True)

from counterbalance.udfs.models import detect as detect_module  # noqa: E402 - they need what may not be installed
from counterbalance.udfs.models import yolo, yolo_files  # noqa: E402
from counterbalance.udfs.models.detect import Letterbox  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools

OPTIONS = {"score": 0.3, "iou": 0.5, "size": 160}
SIDES = ["x", "y", "width", "height"]
MODELS = ["yolo11n", "yolo11n-seg", "yolo26n", "yolo26n-seg"]


@pytest.fixture(scope="module", autouse=True)
def _ultralytics_leaves_the_process_as_it_is():
    """Import it by our module, whichever test comes first: its ``Image.open`` fails tests of other files otherwise."""
    yolo.library()


def lively(name):
    """A network of ultralytics with random weights that finds something: its layers' outputs are normal, its scores differ."""
    held = yolo.library()
    from ultralytics import YOLO

    torch.manual_seed(1)
    model = YOLO(f"{name}.yaml")
    for module in model.model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    model.model.train()
    with torch.no_grad():
        model.model(torch.rand(2, 3, 5, 5).repeat_interleave(32, 2).repeat_interleave(32, 3))
    model.model.eval()
    head = model.model.model[-1]
    for branch in ("cv3", "one2one_cv3"):
        for layers in getattr(head, branch, None) or []:
            torch.nn.init.normal_(layers[-1].weight, std=0.06)
            torch.nn.init.constant_(layers[-1].bias, -3.3)
    coco = (held.root / "cfg" / "datasets" / "coco.yaml").read_text()
    model.model.names = __import__("yaml").safe_load(coco)["names"]
    return model


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The path of each network's weights, which are made once somebody asks."""
    folder = tmp_path_factory.mktemp("weights")

    class Made(dict):
        def __missing__(self, name):
            lively(name).save(folder / f"{name}.pt")
            return self.setdefault(name, str(folder / f"{name}.pt"))

    return Made()


def picture(width, height, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC)


PICTURES = [picture(200, 120, 0), picture(97, 133, 1), picture(200, 120, 2), picture(320, 240, 3), picture(400, 3, 4)]


BYTES = [image_bytes(p) for p in PICTURES]


def run(images, name="detect", **constants):
    constants = {"classes": None, **OPTIONS, **constants}
    if name == "detect_people":
        del constants["classes"]
    found = called(name, constants, images)
    return found.values.to_pylist(), found.errors


@pytest.fixture(scope="module")
def peers(files):
    """What ultralytics finds in each picture alone, by network."""
    from ultralytics import YOLO

    def found(name):
        model = YOLO(files[name])
        return [model.predict(p, conf=0.3, iou=0.5, imgsz=160, retina_masks=True, verbose=False)[0] for p in PICTURES]

    return found


def as_rows(result):
    corners, scores = result.boxes.xyxy.numpy(), result.boxes.conf.numpy()
    sides = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1)
    names = [result.names[int(c)] for c in result.boxes.cls]
    stack = [None] * len(names) if result.masks is None else result.masks.data.numpy().astype(bool)
    boxes = [
        {"score": s, "category": n, **dict(zip(SIDES, b, strict=True))}
        for s, n, b in zip(scores, names, sides, strict=True)
    ]
    return list(zip(boxes, stack, strict=True))


def near(box, other):
    """The same to within what two orders of adding up float32 differ by."""
    return (
        box["category"] == other["category"]
        and abs(box["score"] - other["score"]) < 1e-4
        and all(abs(box[s] - other[s]) < 0.02 for s in SIDES)
    )


@pytest.mark.parametrize("name", chosen(MODELS, "yolo11n", "yolo26n-seg"))
def test_boxes_are_those_of_ultralytics(files, peers, name):
    mine, errors = run(BYTES, model=files[name])
    assert not errors
    total, odd = 0, []
    for boxes, peer in zip(mine, peers(name), strict=True):
        wanted = as_rows(peer)
        assert len(boxes) == len(wanted)
        for box in boxes:
            at = next(i for i, (other, _) in enumerate(wanted) if near(box, other))
            _, mask = wanted.pop(at)
            assert (box["mask"] is None) == (mask is None)
            if mask is not None:
                decoded = coco_masks.decode(json.loads(box["mask"])).astype(bool)
                assert decoded.shape == mask.shape
                odd.append((decoded != mask).mean())
        total += len(boxes)
    assert total > 20
    assert len(odd) == (total if "seg" in name else 0)
    assert np.mean(odd or [0]) < 0.002  # random masks are nearly undecided in places, and float32 adds up in any order


@pytest.mark.parametrize("name", ["yolo11n", "yolo26n-seg"])
def test_boxes_come_in_descending_score_and_lie_in_the_picture(files, name):
    for boxes, image in zip(run(BYTES, model=files[name])[0], PICTURES, strict=True):
        scores = [b["score"] for b in boxes]
        assert scores == sorted(scores, reverse=True)
        assert all(b["x"] >= 0 and b["x"] + b["width"] <= image.width + 1e-4 for b in boxes)
        assert all(b["y"] >= 0 and b["y"] + b["height"] <= image.height + 1e-4 for b in boxes)
        assert all(s > 0.3 for s in scores)


def test_the_same_twice(files):
    first = run(BYTES[:2], model=files["yolo26n-seg"])
    assert first == run(BYTES[:2], model=files["yolo26n-seg"])
    assert all(box["mask"] for boxes in first[0] for box in boxes)
    assert any(first[0])


def test_who_shares_a_batch_does_not_matter(files):
    together, _ = run(BYTES, model=files["yolo26n"])
    for data, boxes in list(zip(BYTES, together, strict=True))[::2]:
        ((alone,), _) = run([data], model=files["yolo26n"])
        assert len(alone) == len(boxes)
        assert all(any(near(a, b) for b in boxes) for a in alone)


def test_boxes_are_looked_for_as_soon_as_a_batch_is_full(monkeypatch, files):
    monkeypatch.setattr(detect_module, "_PIXELS", 2 * 160 * 160)
    monkeypatch.setattr(detect_module, "_AT_ONCE", 1)
    opened = detect_module.detect(files[MODELS[0]], None, 0.3, 0.5, 160)
    opened.open("cpu")
    seen = []
    for owner, name in ((Letterbox, "__call__"), (yolo.Network, "find")):
        own = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, own=own, name=name: (seen.append(name), own(*given))[1])
    square = image_bytes(picture(160, 160, 1))
    found = opened(pa.array([square] * 5, pa.binary())).values.to_pylist()
    opened.close()
    assert seen == ["__call__", "__call__", "find"] * 2 + ["__call__", "find"]
    assert [len(boxes) for boxes in found] == [len(found[0])] * 5


@pytest.mark.parametrize(
    ("width", "height"), [(640, 480), (480, 640), (33, 33), (1, 500), (999, 7), (639, 481), (160, 128)]
)
def test_pictures_are_prepared_as_ultralytics_prepares_them(width, height):
    from ultralytics.data.augment import LetterBox

    pixels = np.asarray(picture(width, height, 1))
    for size in (160, 170, 640):
        found, shape = Letterbox(size, 32)(pixels)
        side = -(-size // 32) * 32
        assert np.array_equal(found, LetterBox((side, side), auto=True, stride=32)(image=pixels))
        assert shape == (height, width)


def test_the_head_is_exact_where_the_rest_is_not(files):
    """Under mixed precision, as on a GPU: corners stay within a pixel or so of the exact ones, and are not bfloat16."""
    network = yolo.Network(files["yolo11n"], "cpu")
    boxed, _ = Letterbox(160, network.stride)(PICTURES[0])
    pixels = torch.from_numpy(boxed[None]).permute(0, 3, 1, 2).float() / 255
    with torch.inference_mode():
        exact = network._model(pixels)[0]
        with torch.autocast("cpu", torch.bfloat16):
            mixed = network._model(pixels)[0]
    assert exact.dtype == mixed.dtype == torch.float32
    assert not torch.equal(exact, mixed)
    assert not torch.equal(mixed[:, :4], mixed[:, :4].bfloat16().float())


def test_rows_without_a_picture(files):
    values, errors = run([None, b"no picture", BYTES[0], BYTES[0][:200]], model=files["yolo11n"])
    assert values[0] is None
    assert values[2]
    assert set(errors) == {1, 3}
    assert run([None, None], model=files["yolo11n"]) == ([None, None], {})


def test_nothing_found_is_an_empty_list(files):
    assert run(BYTES[:1], model=files["yolo11n"], score=1.0) == ([[]], {})


def test_classes_by_name(files):
    everything, _ = run(BYTES, model=files["yolo26n"], score=0.9)
    most = statistics.mode(b["category"] for boxes in everything for b in boxes)
    assert all(len(boxes) < 300 for boxes in everything)
    kept, _ = run(BYTES, model=files["yolo26n"], classes=[most], score=0.9)
    assert kept == [[b for b in boxes if b["category"] == most] for boxes in everything]
    assert any(kept)


def test_an_unknown_class(files):
    with pytest.raises(NotFoundError, match="no class 'persn'; did you mean 'person'") as caught:
        run(BYTES, model=files["yolo11n"], classes=["dog", "persn"])
    assert caught.value.code == "E1115"


def test_people_are_objects_of_the_class_person(files):
    people, _ = run(BYTES, "detect_people", model=files["yolo11n"], score=0.1)
    assert people == run(BYTES, model=files["yolo11n"], classes=["person"], score=0.1)[0]
    assert any(people)
    assert {b["category"] for boxes in people for b in boxes} == {"person"}


@pytest.mark.parametrize("options", [{"score": 1.5}, {"iou": -0.1}, {"size": 16}, {"size": 10**6}])
def test_options_out_of_range(files, options):
    with pytest.raises(FunctionError, match="out of range"):
        run(BYTES, model=files["yolo11n"], **options)


def test_names_beside_a_plan(files, tmp_path):
    import yaml
    from safetensors.torch import save_file
    from ultralytics import YOLO

    network = YOLO(files["yolo11n"]).model
    save_file({k: v.contiguous() for k, v in network.state_dict().items()}, tmp_path / "own.safetensors")
    for names, right in [([f"kind {i}" for i in range(80)], True), (["only one"], False)]:
        (tmp_path / "own.yaml").write_text(yaml.safe_dump({**network.yaml, "names": names}))
        if right:
            ((boxes,), _) = run(BYTES[:1], model=str(tmp_path / "own.safetensors"))
            ((others,), _) = run(BYTES[:1], model=files["yolo11n"])
            coco = list(network.names.values())
            assert [b["category"] for b in boxes] == [f"kind {coco.index(b['category'])}" for b in others]
        else:
            with pytest.raises(FunctionError, match="80 classes and 1 names"):
                run(BYTES[:1], model=str(tmp_path / "own.safetensors"))


def test_a_state_dict_without_a_plan(tmp_path):
    (tmp_path / "own.safetensors").write_bytes(b"")
    with pytest.raises(FunctionError, match=r"no own\.yaml beside it"):
        functions()["detect"].digest({"model": str(tmp_path / "own.safetensors")})


@pytest.mark.parametrize("name", ["yolo11n", *again("yolo26n-seg")])
def test_a_state_dict_beside_a_yaml(files, tmp_path, name):
    import yaml
    from safetensors.torch import save_file
    from ultralytics import YOLO

    network = YOLO(files[name]).model
    save_file({k: v.contiguous() for k, v in network.state_dict().items()}, tmp_path / f"{name}.safetensors")
    plan = dict(network.yaml)
    del plan["scale"]  # the letter in the file's name says it; names of 80 classes are COCO's
    (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(plan))
    assert run(BYTES, model=str(tmp_path / f"{name}.safetensors")) == run(BYTES, model=files[name])


class Hostile:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def test_a_checkpoint_that_would_run_a_command_is_refused(tmp_path):
    torch.save({"model": Hostile(os.system, (f"touch {tmp_path}/ran",))}, tmp_path / "bad.pt")
    with pytest.raises(FunctionError, match=r"it would run (posix|nt)\.system") as caught:
        run(BYTES, model=str(tmp_path / "bad.pt"))
    assert caught.value.code == "E8112"
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_that_would_build_a_network_while_it_is_read_builds_none(tmp_path):
    from ultralytics.nn.tasks import DetectionModel

    plan = {"nc": 1, "activation": f"__import__('os').system('touch {tmp_path}/ran')", "backbone": [], "head": []}
    torch.save({"model": Hostile(DetectionModel, (plan,))}, tmp_path / "bad.pt")
    with pytest.raises(FunctionError, match="holds no network"):
        run(BYTES, model=str(tmp_path / "bad.pt"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda plan, ran: plan.update(activation=f"__import__('os').system('touch {ran}')"),
        lambda plan, ran: plan["backbone"].insert(0, [-1, 1, "load_checkpoint", [str(ran)]]),
        lambda plan, ran: plan["backbone"].insert(0, [-1, 1, "nn.init", []]),
        lambda plan, ran: plan["backbone"].insert(0, [-1, 1, "TorchVision", [3, "resnet18", "DEFAULT"]]),
    ],
)
def test_a_plan_that_names_more_than_layers_is_refused(files, tmp_path, change):
    from ultralytics import YOLO

    model = YOLO(files["yolo11n"])
    change(model.model.yaml, tmp_path / "ran")
    model.save(tmp_path / "bad.pt")
    with pytest.raises(FunctionError, match="not a layer") as caught:
        run(BYTES, model=str(tmp_path / "bad.pt"))
    assert caught.value.code == "E8114"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no checkpoint", b"\x80\x04K\x01."])
def test_a_file_that_is_no_checkpoint(tmp_path, content):
    (tmp_path / "bad.pt").write_bytes(content)
    with pytest.raises(FunctionError, match="cannot be loaded as a detector") as caught:
        run(BYTES, model=str(tmp_path / "bad.pt"))
    assert caught.value.code == "E8112"


def test_a_network_that_finds_no_boxes_is_refused(tmp_path):
    from ultralytics import YOLO

    YOLO("yolo11n-cls.yaml").save(tmp_path / "class.pt")
    with pytest.raises(FunctionError, match="ends in Classify"):
        run(BYTES, model=str(tmp_path / "class.pt"))


def test_weights_that_do_not_fit(files, tmp_path):
    from ultralytics import YOLO

    model = YOLO(files["yolo11n"])
    model.model.yaml["scale"] = "s"
    model.save(tmp_path / "bad.pt")
    with pytest.raises(FunctionError, match="do not fit") as caught:
        run(BYTES, model=str(tmp_path / "bad.pt"))
    assert caught.value.code == "E8113"


def test_names_that_are_none(monkeypatch, tmp_path):
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    with pytest.raises(NotFoundError, match="no detector 'resnet'") as caught:
        functions()["detect"].digest({"model": "resnet"})
    assert caught.value.code == "E1111"
    with pytest.raises(NotFoundError, match="YOLO11/yolo11x-seg") as caught:
        functions()["detect"].digest({"model": "yolo11x-seg"})
    assert caught.value.code == "E1102"
    assert "--allow-download" in caught.value.hint


def test_a_name_without_the_extra_says_which(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RequestError, match="huggingface_hub cannot be imported") as caught:
        functions()["detect"].digest({"model": "yolo11x"})
    assert caught.value.hint == "pip install 'counterbalance[detect]'"


def test_a_name_is_looked_for_where_ultralytics_keeps_weights(monkeypatch, tmp_path, files):
    monkeypatch.delenv("YOLO_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = os.path.dirname(files["yolo11n"])  # noqa: PTH120 - files are strings here
    (tmp_path / "Ultralytics").mkdir()
    (tmp_path / "Ultralytics" / "settings.json").write_text(json.dumps({"weights_dir": folder}))
    if sys.platform != "darwin":
        assert str(yolo_files.locate("yolo11n")) == files["yolo11n"]


def test_the_digest_is_that_of_the_file(files):
    digest = functions()["detect"].digest
    assert digest({"model": files["yolo11n"]}) == functions()["detect_people"].digest({"model": files["yolo11n"]})
    assert digest({"model": files["yolo11n"]}) != digest({"model": files["yolo26n"]})


PROGRAM = """
import os, sys, warnings
import numpy as np, torch
import pyarrow as pa
def state():
    return dict(os.environ), np.get_printoptions(), list(warnings.filters), repr(torch.rand(9, 9) * 0), torch.get_num_threads(), torch.save
before = state()
from counterbalance.udfs.models.detect import detect
opened = detect(sys.argv[1], None, 0.3, 0.5, 160)
opened.open("cpu")
found = opened(pa.array([open(sys.argv[2], "rb").read()]))
assert found.values[0].as_py()
assert [a for a, b in zip(before, state()) if a != b] == []
import cv2
from PIL import Image
assert {f.__module__.partition(".")[0] for f in (Image.open, torch.save, torch.load)} == {"PIL", "torch"}
assert not hasattr(cv2.imread, "__wrapped__")
assert "ultralytics" not in (getattr(cv2.imread, "__module__", None) or "")
"""


@pytest.mark.thorough
def test_it_writes_and_prints_nothing_and_leaves_functions_of_other_libraries(files, tmp_path):
    """In a process of its own: other tests import more of ultralytics, which replaces functions."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "a.png").write_bytes(BYTES[0])
    hidden = ("YOLO", "XDG", "OMP", "PYTEST", "TORCH")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    environment |= {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, files["yolo11n"], str(tmp_path / "a.png")],
        cwd=tmp_path / "here",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for folder in ("home", "here", "temporary"):
        assert [str(f) for f in (tmp_path / folder).rglob("*") if f.is_file()] == []


def test_as_a_column_of_a_lake(files, tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": pa.table({"image_id": [1, 2, 3], "image": pa.array([BYTES[0], None, b"broken"], pa.binary())})}
    )
    call = f"detect_people(image, model := '{files['yolo11n']}', score := 0.1, iou := 0.5, size := 160)"
    lake.sql(f"ALTER TABLE images ADD COLUMN people AS ({call})")
    lake.refresh(executor="inline")
    rows = dict(lake.sql("SELECT image_id, people FROM images").fetchall())
    assert rows[1] == run(BYTES[:1], "detect_people", model=files["yolo11n"], score=0.1)[0][0]
    assert rows[2] is None
    assert rows[3] is None
