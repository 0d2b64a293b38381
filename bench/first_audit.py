"""Write docs/first-audit.md: from what people have to a first audit, the commands that are typed and their seconds.

    python bench/first_audit.py > docs/first-audit.md

The files are made by the libraries that people make them with (``datasets``, ``webdataset``, ``img2dataset`` where it is on the
path, pyarrow, Pillow), or written as their publishers write them. Each is read by ``cbal ingest`` and asked by ``cbal audit``,
as processes of their own: nothing else is typed.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
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
PAGE = """# From what people have to a first audit

Made by `python bench/first_audit.py --rows {rows} > docs/first-audit.md`, {day}, on {cores} cores with other work beside it: {rows:,} images of each kind,
each with a caption (FairFace: with labels). The second column names the library that made the files; others are written as their
publishers write them. What stands in the third column is typed, after `cbal` or in Python, and nothing else; seconds are of all
of it, with Python's start (twice `cbal --version` took {least:.1f} s) and, of the first row, with the making of its dataset.

| what people have | made by | typed | seconds to the first audit |
|---|---|---|---|
"""


def texts(rows: int) -> list[str]:
    """Return captions, of men and women in turns."""
    return [f"a {('man', 'woman')[i % 2]} rides a horse, number {i}" for i in range(rows)]


def png(number: int) -> bytes:
    """Return a picture of its own."""
    buffer = io.BytesIO()
    Image.new("RGB", (16, 12), (number % 256, number // 256, 40)).save(buffer, "PNG")
    return buffer.getvalue()


def dataset(rows: int, start: int = 0) -> Any:
    """Return a ``Dataset`` of pictures, captions and classes."""
    import datasets

    datasets.disable_progress_bars()
    kinds = {
        "image": datasets.Image(),
        "caption": datasets.Value("string"),
        "place": datasets.ClassLabel(names=["beach", "street"]),
    }
    numbers = range(start, start + rows)
    pictures = [{"bytes": png(i), "path": None} for i in numbers]
    columns = {"image": pictures, "caption": texts(start + rows)[start:], "place": [i // 2 % 2 for i in numbers]}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


def dataset_object(folder: Path, rows: int) -> Path:
    """Hugging Face: a `Dataset` in Python."""
    text = f"""import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import counterbalance as cb
from first_audit import dataset
found = dataset({rows})
lake = cb.connect("a.lake")
lake.ingest(found)
lake.audit("demographics").df().to_csv(sys.stdout, index=False)
"""
    (folder / "notebook.py").write_text(text, encoding="utf-8")
    return folder / "notebook.py"


def saved_dataset(folder: Path, rows: int) -> Path:
    """Hugging Face: a `Dataset` that `save_to_disk` left."""
    dataset(rows).save_to_disk(folder / "saved")
    return folder / "saved"


def saved_splits(folder: Path, rows: int) -> Path:
    """Hugging Face: a `DatasetDict` with two splits that `save_to_disk` left."""
    import datasets

    both = {"train": dataset(rows // 2), "test": dataset(rows - rows // 2, rows // 2)}
    datasets.DatasetDict(both).save_to_disk(folder / "saved")
    return folder / "saved"


def hub_parquet(folder: Path, rows: int) -> Path:
    """Hugging Face: Parquet as on the Hub, with `Image` and `ClassLabel`."""
    (folder / "data").mkdir()
    dataset(rows).to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return folder / "data"


def shards(folder: Path, rows: int) -> Path:
    """Shards, a text to each picture."""
    import webdataset

    (folder / "shards").mkdir()
    with webdataset.ShardWriter(str(folder / "shards" / "%05d.tar"), maxcount=25, verbose=0) as out:
        for i, text in enumerate(texts(rows)):
            out.write({"__key__": f"{i:06d}", "png": png(i), "txt": text})
    return folder / "shards"


def shards_of_texts(folder: Path, rows: int) -> Path:
    """Shards, several texts and JSON to each picture."""
    import webdataset

    (folder / "shards").mkdir()
    with webdataset.ShardWriter(str(folder / "shards" / "%05d.tar"), maxcount=25, verbose=0) as out:
        for i, text in enumerate(texts(rows)):
            more = {"alt.txt": f"{text}, of the web", "json": {"similarity": 0.3}}
            out.write({"__key__": f"{i:06d}", "png": png(i), "txt": text, **more})
    return folder / "shards"


def img2dataset_parquet(folder: Path, rows: int) -> Path:
    """Downloads: Parquet, with the pictures in a column."""
    return _downloaded(folder, rows, "parquet")


def img2dataset_shards(folder: Path, rows: int) -> Path:
    """Downloads: shards, with Parquet beside each."""
    return _downloaded(folder, rows, "webdataset")


def img2dataset_files(folder: Path, rows: int) -> Path:
    """Downloads: a folder of pictures, texts and JSON a shard, and a table beside it."""
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
        if form == "webdataset":
            _shard(shard.with_suffix(".tar"), part, pictures)
        for n, picture in enumerate(pictures if form == "files" else ()):
            shard.mkdir(exist_ok=True)
            (shard / part["key"][n]).with_suffix(".jpg").write_bytes(picture)
            (shard / part["key"][n]).with_suffix(".txt").write_text(part["caption"][n], encoding="utf-8")
            told = {name: values[n] for name, values in part.items()}
            (shard / part["key"][n]).with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return out


def _shard(path: Path, part: dict[str, list[Any]], pictures: list[bytes]) -> None:
    import webdataset

    with webdataset.TarWriter(str(path)) as out:
        for n, picture in enumerate(pictures):
            told = {name: values[n] for name, values in part.items()}
            out.write({"__key__": part["key"][n], "jpg": picture, "txt": part["caption"][n], "json": told})


def _pictures(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True)
    for i in range(rows):
        (folder / f"{i}.png").write_bytes(png(i))


def imagefolder(folder: Path, rows: int) -> Path:
    """A folder of pictures with `metadata.csv`."""
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


def pictures_and_texts(folder: Path, rows: int) -> Path:
    """A folder of pictures, and a text beside each."""
    _pictures(folder / "set", rows)
    for i, text in enumerate(texts(rows)):
        (folder / "set" / f"{i}.txt").write_text(text + "\n", encoding="utf-8")
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
    """Flickr30k's `results.csv`."""
    lines = [f"{i // 2}.jpg| {i % 2}| {t}" for i, t in enumerate(texts(2 * rows))]
    (folder / "results.csv").write_text("\n".join(["image_name| comment_number| comment", *lines]), encoding="utf-8")
    return folder / "results.csv"


def flickr30k_hub(folder: Path, rows: int) -> Path:
    """Flickr30k's `flickr_annotations_30k.csv`."""
    with (folder / "flickr_annotations_30k.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["raw", "sentids", "split", "filename", "img_id"])
        table.writerows([json.dumps([t]), f"[{i}]", "train", f"{i}.jpg", i] for i, t in enumerate(texts(rows)))
    return folder / "flickr_annotations_30k.csv"


def flickr30k_splits(folder: Path, rows: int) -> Path:
    """Karpathy's splits of Flickr30k: `dataset_flickr30k.json`."""
    images = [
        {
            "imgid": i,
            "filename": f"{i}.jpg",
            "split": "train",
            "sentids": [i],
            "sentences": [{"tokens": t.split(), "raw": t, "imgid": i, "sentid": i}],
        }
        for i, t in enumerate(texts(rows))
    ]
    document = json.dumps({"images": images, "dataset": "flickr30k"})
    (folder / "dataset_flickr30k.json").write_text(document, encoding="utf-8")
    return folder / "dataset_flickr30k.json"


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
    """Captions alone: CSV."""
    (folder / "captions.csv").write_text("\n".join(["caption", *texts(rows)]), encoding="utf-8")
    return folder / "captions.csv"


def captions_tsv(folder: Path, rows: int) -> Path:
    """Captions alone: TSV of file names and captions."""
    lines = (f"{i}.jpg\t{t}" for i, t in enumerate(texts(rows)))
    (folder / "captions.tsv").write_text("\n".join(["image\tcaption", *lines]), encoding="utf-8")
    return folder / "captions.tsv"


def captions_jsonl(folder: Path, rows: int) -> Path:
    """Captions alone: JSON lines."""
    lines = (json.dumps({"image": f"{i}.jpg", "caption": t}) for i, t in enumerate(texts(rows)))
    (folder / "captions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "captions.jsonl"


def captions_json(folder: Path, rows: int) -> Path:
    """Captions alone: a list in JSON."""
    listed = [{"image": f"{i}.jpg", "caption": t} for i, t in enumerate(texts(rows))]
    (folder / "captions.json").write_text(json.dumps(listed), encoding="utf-8")
    return folder / "captions.json"


def captions_parquet(folder: Path, rows: int) -> Path:
    """Captions alone: Parquet."""
    names = [f"{i}.jpg" for i in range(rows)]
    pq.write_table(pa.table({"image": names, "caption": texts(rows)}), folder / "captions.parquet")
    return folder / "captions.parquet"


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


def fairface(folder: Path, rows: int) -> Path:
    """FairFace: pictures, and a table of perceived labels."""
    _pictures(folder / "fairface" / "val", rows)
    lines = (f"val/{i}.png,20-29,{('Male', 'Female')[i % 2]},Indian,True" for i in range(rows))
    table = "\n".join(["file,age,gender,race,service_test", *lines])
    (folder / "fairface" / "fairface_label_val.csv").write_text(table, encoding="utf-8")
    return folder / "fairface"


MAKERS: dict[Callable[[Path, int], Path], str] = {
    dataset_object: "datasets",
    saved_dataset: "datasets",
    saved_splits: "datasets",
    hub_parquet: "datasets",
    img2dataset_parquet: "img2dataset",
    img2dataset_shards: "img2dataset",
    img2dataset_files: "img2dataset",
    shards: "webdataset",
    shards_of_texts: "webdataset",
    captions_alone: "plain",
    captions_tsv: "plain",
    captions_jsonl: "plain",
    captions_json: "plain",
    captions_parquet: "pyarrow",
    laion: "pyarrow",
    conceptual_captions: "",
    imagefolder: "Pillow",
    pictures_and_captions: "Pillow",
    pictures_and_texts: "Pillow",
    coco: "Pillow",
    flickr30k: "",
    flickr30k_hub: "",
    flickr30k_splits: "",
    open_images: "Pillow",
    visual_genome: "",
    cvat: "Pillow",
    yolo: "Pillow",
    pascal_voc: "Pillow",
    fairface: "Pillow",
    phase: "",
}
"""Sources that people have, and the library that makes each; nothing where it is written as its publishers write it."""


def commands(source: Path, lake: Path) -> list[list[str]]:
    """Return what is typed after ``cbal``."""
    of_labels = ["groups=image_labels('gender')"] if source.name == "fairface" else []
    return [
        ["ingest", str(lake), str(source)],
        ["audit", str(lake), "demographics", *of_labels, "--format", "csv"],
    ]


def first_audit(source: Path, lake: Path) -> tuple[str, float]:
    """Type the two commands, each in a process of its own; returns what the audit wrote, and the seconds of both."""
    program = [[sys.executable, "-m", "counterbalance", *words] for words in commands(source, lake)]
    if source.suffix == ".py":
        program = [[sys.executable, str(source)]]
    began = time.perf_counter()
    for typed in program:
        done = subprocess.run(typed, check=True, capture_output=True, text=True, cwd=source.parent)
    return done.stdout, time.perf_counter() - began


def _typed(source: Path) -> str:
    """Return a cell of the table: what is typed, from the folder that the source lies in."""
    if source.suffix == ".py":
        return '`lake.ingest(dataset)`, `lake.audit("demographics")`'
    words = [[f'"{w}"' if "'" in w else w for w in line] for line in commands(Path(source.name), Path("a.lake"))]
    return ", ".join(f"`{' '.join(w for w in line if w not in {'--format', 'csv'})}`" for line in words)


def _made_by(library: str) -> str:
    if library == "img2dataset" and shutil.which("img2dataset") is None:
        return "laid out as img2dataset does"
    return {"": "as published", "plain": "as text"}.get(library, f"`{library}`")


def _starts() -> float:
    """Return the seconds in which Python starts twice and tells our version."""
    began = time.perf_counter()
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "counterbalance", "--version"], check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Make each source, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    rows = parser.parse_args().rows
    about = {"rows": rows, "day": datetime.now(UTC).date(), "cores": os.cpu_count(), "least": _starts()}
    print(PAGE.format(**about), end="")
    for make, library in MAKERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            source = make(Path(scratch), rows)
            _, seconds = first_audit(source, Path(scratch) / "a.lake")
        what = str(make.__doc__).splitlines()[0].rstrip(".")
        print(f"| {what} | {_made_by(library)} | {_typed(source)} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
