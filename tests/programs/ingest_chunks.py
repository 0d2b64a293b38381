"""Ingest a source of many small chunks, telling each one. Arguments: lake, first image id, chunks, seconds a chunk takes.

Every chunk has 4 new images, 8 captions, a label that is kept apart, a changed width for image 1 + chunk number, a caption
without an image, and an item that the reader refuses.
"""

from __future__ import annotations

import sys
import time

import pyarrow as pa

from counterbalance.engine.ingest_types import Chunk, Reject, Source
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.store.location import Location
from counterbalance.engine.write.ingest import ingest


def rows(table, **columns):
    schema = BASE_TABLES[table].schema()
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


def chunk(first, number):
    ids = [first + number * 4 + i for i in range(4)]
    captions = [i * 10 + part for i in ids for part in (0, 1)]
    images = rows(
        "images", image_id=[*ids, 1 + number], key=[*map(str, ids), None], width=[*ids, 5000 + number], split=["s"] * 5
    )
    texts = rows(
        "captions",
        caption_id=[*captions, -1 - number],
        image_id=[*(c // 10 for c in captions), 10**9],
        text=[f"text {c}" for c in captions] + ["no image"],
        origin=["human", "alt_text"] * 4 + ["human"],
    )
    labels = rows(
        "labels",
        label_id=[ids[0] * 2, ids[0] * 2 + 1],
        image_id=[ids[0]] * 2,
        attribute=["scene", "perceived_gender"],
        value=["sea", f"value {number % 3}"],
    )
    refused = Reject("many.json", f"item {number}", "bad_item", "refused by the reader")
    places = {"captions": [f"captions {number}, {i}" for i in range(9)]}
    tables = {"images": images, "captions": texts, "labels": labels}
    return Chunk(tables, (refused,), rows_read=16, positions=places, source="many.json")


if __name__ == "__main__":
    lake, first, count, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])

    def chunks():
        for number in range(count):
            yield chunk(first, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            time.sleep(pause)

    report = ingest(Location(lake), Source(f"many:{first}", chunks()), "test", wait=60.0)
    sys.stdout.write(f"done {report.written} {report.updated} {report.unchanged + report.known} {report.rejected}\n")
