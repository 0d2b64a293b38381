"""From what people have to a first audit: ``python bench/first_audit.py [--rows N]`` prints the commands typed and their seconds.

The files are made by the libraries that people make them with (``datasets``, ``webdataset``, pyarrow, Pillow). Each is read by
``cbal ingest LAKE SOURCE`` and asked by ``cbal audit LAKE demographics``, as processes of their own: nothing else is typed.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 60


def texts(rows: int) -> list[str]:
    """Return captions, of men and women in turns."""
    return [f"a {('man', 'woman')[i % 2]} rides a horse, number {i}" for i in range(rows)]


def png(number: int) -> bytes:
    """Return a picture of its own."""
    buffer = io.BytesIO()
    Image.new("RGB", (16, 12), (number % 256, number // 256, 40)).save(buffer, "PNG")
    return buffer.getvalue()


def _dataset(rows: int) -> Any:
    import datasets

    datasets.disable_progress_bars()
    features = datasets.Features({"image": datasets.Image(), "caption": datasets.Value("string")})
    pictures = [{"bytes": png(i), "path": None} for i in range(rows)]
    return datasets.Dataset.from_dict({"image": pictures, "caption": texts(rows)}, features=features)


def saved_dataset(folder: Path, rows: int) -> Path:
    """``Dataset.save_to_disk``."""
    import datasets

    half = datasets.DatasetDict({"train": _dataset(rows)})
    half.save_to_disk(folder / "saved")
    return folder / "saved"


def hub_parquet(folder: Path, rows: int) -> Path:
    """Parquet as on the Hub, by ``Dataset.to_parquet``."""
    (folder / "data").mkdir()
    _dataset(rows).to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return folder / "data"


def shards(folder: Path, rows: int) -> Path:
    """Shards, by ``webdataset.ShardWriter``."""
    import webdataset

    (folder / "shards").mkdir()
    with webdataset.ShardWriter(str(folder / "shards" / "%05d.tar"), maxcount=25, verbose=0) as out:
        for i, text in enumerate(texts(rows)):
            out.write({"__key__": f"{i:06d}", "png": png(i), "txt": text})
    return folder / "shards"


def img2dataset_parquet(folder: Path, rows: int) -> Path:
    """img2dataset's Parquet, with the pictures in a column."""
    return _downloaded(folder, rows, "parquet")


def img2dataset_files(folder: Path, rows: int) -> Path:
    """What img2dataset writes where nothing else is asked: a folder of pictures, texts and JSON a shard, and a table beside it."""
    return _downloaded(folder, rows, "files")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of a request."""


def _downloaded(folder: Path, rows: int, form: str) -> Path:
    """Let img2dataset download pictures from this machine; where it is not installed, lay out its files as it does."""
    out = folder / "out"
    if (program := shutil.which("img2dataset")) is None:
        return _laid_out(out, rows, form)
    _pictures(folder / "www", rows)
    serve = partial(_Quiet, directory=str(folder / "www"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        with (folder / "list.csv").open("w", newline="", encoding="utf-8") as file:
            listed = [(f"{address}/{i}.png", text) for i, text in enumerate(texts(rows))]
            csv.writer(file).writerows([("url", "caption"), *listed])
        options = [
            "--url_list",
            folder / "list.csv",
            "--input_format",
            "csv",
            "--url_col",
            "url",
            "--caption_col",
            "caption",
        ]
        options += [
            "--output_format",
            form,
            "--output_folder",
            out,
            "--processes_count",
            "1",
            "--number_sample_per_shard",
            "25",
        ]
        subprocess.run([program, *map(str, options), "--image_size", "32"], check=True, capture_output=True)
        server.shutdown()
    return out


def _laid_out(out: Path, rows: int, form: str) -> Path:
    out.mkdir()
    keys = [f"{i:07d}" for i in range(rows)]
    size = {"width": [16] * rows, "height": [12] * rows}
    urls = [f"http://example.org/{i}.png" for i in range(rows)]
    table = {
        "url": urls,
        "caption": texts(rows),
        "key": keys,
        "status": ["success"] * rows,
        **size,
        "exif": ["{}"] * rows,
    }
    for start in range(0, rows, 25):
        shard = out / f"{start // 25:05d}"
        part = {name: values[start : start + 25] for name, values in table.items()}
        shard.with_name(f"{shard.name}_stats.json").write_text(
            json.dumps({"count": len(part["key"])}), encoding="utf-8"
        )
        pictures = [png(i) for i in range(start, min(start + 25, rows))]
        pq.write_table(pa.table(part | {"jpg": pictures} if form == "parquet" else part), f"{shard}.parquet")
        for n, picture in enumerate(pictures if form == "files" else ()):
            shard.mkdir(exist_ok=True)
            (shard / part["key"][n]).with_suffix(".jpg").write_bytes(picture)
            (shard / part["key"][n]).with_suffix(".txt").write_text(part["caption"][n], encoding="utf-8")
            told = {name: values[n] for name, values in part.items()}
            (shard / part["key"][n]).with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return out


def _pictures(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True)
    for i in range(rows):
        (folder / f"{i}.png").write_bytes(png(i))


def imagefolder(folder: Path, rows: int) -> Path:
    """A folder of pictures with ``metadata.csv``."""
    _pictures(folder / "set", rows)
    with (folder / "set" / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("file_name", "text"), *((f"{i}.png", t) for i, t in enumerate(texts(rows)))])
    return folder / "set"


def pictures_and_captions(folder: Path, rows: int) -> Path:
    """A folder of pictures, and a table of captions beside it."""
    _pictures(folder / "set" / "pictures", rows)
    lines = (json.dumps({"image": f"{i}.png", "caption": t}) for i, t in enumerate(texts(rows)))
    (folder / "set" / "captions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "set"


def coco(folder: Path, rows: int) -> Path:
    """COCO: annotations and pictures in one folder."""
    _pictures(folder / "coco" / "val2017", rows)
    images = [{"id": i, "file_name": f"{i}.png", "width": 16, "height": 12} for i in range(1, rows)]
    said = [{"id": i, "image_id": i, "caption": t} for i, t in enumerate(texts(rows)) if i]
    (folder / "coco" / "annotations").mkdir()
    document = json.dumps({"info": {}, "images": images, "annotations": said})
    (folder / "coco" / "annotations" / "captions_val2017.json").write_text(document, encoding="utf-8")
    return folder / "coco"


def flickr30k(folder: Path, rows: int) -> Path:
    """Flickr30k's ``results.csv``."""
    lines = [f"{i // 2}.jpg| {i % 2}| {t}" for i, t in enumerate(texts(2 * rows))]
    (folder / "results.csv").write_text("\n".join(["image_name| comment_number| comment", *lines]), encoding="utf-8")
    return folder / "results.csv"


def conceptual_captions(folder: Path, rows: int) -> Path:
    """Conceptual Captions: TSV of captions and URLs without a header."""
    lines = (f"{t}\thttp://example.org/{i}.jpg" for i, t in enumerate(texts(rows)))
    (folder / "Train_GCC-training.tsv").write_text("\n".join(lines), encoding="utf-8")
    return folder / "Train_GCC-training.tsv"


def laion(folder: Path, rows: int) -> Path:
    """LAION's Parquet of URLs and texts."""
    urls = [f"http://example.org/{i}.jpg" for i in range(rows)]
    pq.write_table(pa.table({"URL": urls, "TEXT": texts(rows), "punsafe": [0.1] * rows}), folder / "part-00000.parquet")
    return folder / "part-00000.parquet"


def captions_alone(folder: Path, rows: int) -> Path:
    """A CSV of captions alone."""
    (folder / "captions.csv").write_text("\n".join(["caption", *texts(rows)]), encoding="utf-8")
    return folder / "captions.csv"


def _captions(folder: Path, rows: int) -> Path:
    lines = (f"{i}.png,{t!r}" for i, t in enumerate(texts(rows)))
    (folder / "captions.csv").write_text("\n".join(["image,caption", *lines]).replace("'", '"'), encoding="utf-8")
    return folder


def yolo(folder: Path, rows: int) -> Path:
    """A folder for YOLO, and a table of captions in it."""
    _pictures(folder / "set" / "images" / "train", rows)
    (folder / "set" / "labels" / "train").mkdir(parents=True)
    for i in range(0, rows, 2):
        (folder / "set" / "labels" / "train" / f"{i}.txt").write_text("0 0.5 0.5 0.5 0.5\n", encoding="utf-8")
    (folder / "set" / "data.yaml").write_text("train: images/train\nnames:\n  0: horse\n", encoding="utf-8")
    return _captions(folder / "set", rows)


def pascal_voc(folder: Path, rows: int) -> Path:
    """Pascal VOC, and a table of captions in its folder."""
    _pictures(folder / "VOC" / "JPEGImages", rows)
    (folder / "VOC" / "Annotations").mkdir()
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>8</xmax><ymax>6</ymax></bndbox>"
    for i in range(rows):
        text = f"<annotation><filename>{i}.png</filename><object><name>horse</name>{box}</object></annotation>"
        (folder / "VOC" / "Annotations" / f"{i}.xml").write_text(text, encoding="utf-8")
    return _captions(folder / "VOC", rows)


def cvat(folder: Path, rows: int) -> Path:
    """CVAT's annotations.xml with pictures, and a table of captions beside it."""
    _pictures(folder / "task" / "images", rows)
    box = '<box label="horse" xtl="1" ytl="1" xbr="8" ybr="6"/>'
    lines = (f'<image name="{i}.png" width="16" height="12">{box}</image>' for i in range(rows))
    document = f"<annotations>{''.join(lines)}</annotations>"
    (folder / "task" / "annotations.xml").write_text(document, encoding="utf-8")
    return _captions(folder / "task", rows)


def open_images(folder: Path, rows: int) -> Path:
    """Open Images: pictures, boxes and classes, and a table of captions in the folder."""
    _pictures(folder / "set" / "train", rows)
    columns = (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
    )
    lines = (f"{i},xclick,/m/03k3r,1,0.25,0.5,0.1,0.9,0,0,0,0,0" for i in range(rows))
    (folder / "set" / "train-annotations-bbox.csv").write_text("\n".join([columns, *lines]), encoding="utf-8")
    (folder / "set" / "class-descriptions-boxable.csv").write_text("/m/03k3r,Horse\n", encoding="utf-8")
    return _captions(folder / "set", rows)


def visual_genome(folder: Path, rows: int) -> Path:
    """Visual Genome: images, objects and descriptions of regions."""
    (folder / "genome").mkdir()
    box = {"x": 1, "y": 1, "w": 8, "h": 6, "names": ["horse"], "synsets": []}
    about = {"width": 16, "height": 12, "coco_id": None, "flickr_id": None}
    region = {"x": 1, "y": 1, "width": 8, "height": 6}
    lists = {
        "image_data": [{"image_id": i, "url": f"https://example.org/{i}.jpg", **about} for i in range(rows)],
        "objects": [{"image_id": i, "objects": [{"object_id": i, **box}]} for i in range(rows)],
        "region_descriptions": [
            {"id": i, "regions": [{"region_id": i, "image_id": i, "phrase": t, **region}]}
            for i, t in enumerate(texts(rows))
        ],
    }
    for name, items in lists.items():
        (folder / "genome" / f"{name}.json").write_text(json.dumps(items), encoding="utf-8")
    return folder / "genome"


def phase(folder: Path, rows: int) -> Path:
    """PHASE: captions and regions of persons."""
    (folder / "phase").mkdir()
    person = {"region": [1, 1, 8, 6], "annotations": [{"worker": "w1", "gender": "unsure", "emotion": "happy"}]}
    document = json.dumps({str(i): {"1": person, "caption": t} for i, t in enumerate(texts(rows))})
    (folder / "phase" / "phase_gcc_val_all_20221101.json").write_text(document, encoding="utf-8")
    return folder / "phase"


MAKERS: tuple[Callable[[Path, int], Path], ...] = (
    saved_dataset, hub_parquet, shards, img2dataset_parquet, img2dataset_files, imagefolder, pictures_and_captions, coco, flickr30k,
    conceptual_captions, laion, captions_alone, yolo, pascal_voc, cvat,
    open_images, visual_genome, phase,
)  # fmt: skip


def commands(source: Path, lake: Path) -> list[list[str]]:
    """Return what is typed after ``cbal``."""
    return [["ingest", str(lake), str(source)], ["audit", str(lake), "demographics", "--format", "csv"]]


def first_audit(source: Path, lake: Path) -> tuple[str, float]:
    """Type the two commands, each in a process of its own; returns what the audit wrote, and the seconds of both."""
    began = time.perf_counter()
    for words in commands(source, lake):
        typed = [sys.executable, "-m", "counterbalance", *words]
        done = subprocess.run(typed, check=True, capture_output=True, text=True, cwd=source.parent)
    return done.stdout, time.perf_counter() - began


def main() -> None:
    """Make each source, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    rows = parser.parse_args().rows
    print("| what people have | commands | seconds to the first audit |\n|---|---|---|")
    for make in MAKERS:
        with tempfile.TemporaryDirectory() as scratch:
            _, seconds = first_audit(make(Path(scratch), rows), Path(scratch) / "a.lake")
        print(f"| {str(make.__doc__).splitlines()[0].rstrip('.')} | 2 | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
