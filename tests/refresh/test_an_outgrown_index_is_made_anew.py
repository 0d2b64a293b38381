"""A refresh makes an index anew whose table has grown out of it, on the device that it was told, and says so."""

from __future__ import annotations

from counterbalance.engine.search import indexes

LOOK = f"CAST([{', '.join(f'sin(image_id * {n}.1)' for n in range(1, 9))}] AS FLOAT[8])"


def test_as_a_rebuild_on_the_device(disk_lake, build, monkeypatch):
    disk_lake.ingest({"images": build.images(image_id=[1, 2, 3])})
    disk_lake.sql(f"ALTER TABLE images ADD COLUMN look AS ({LOOK})")
    disk_lake.sql("CREATE INDEX by_look ON images USING ivf_sq (look)")

    def refreshed(**options):
        stages = disk_lake.refresh(executor="inline", **options).stages
        return [(s.mode, s.rows) for s in stages if "by_look" in s.target]

    asked, train = [], indexes.train

    def trained(*given, device, **more):
        asked.append(device)
        return train(*given, device="cpu", **more)

    assert refreshed() == [("rebuild", 3)]
    monkeypatch.setattr(indexes, "train", trained)
    disk_lake.ingest({"images": build.images(image_id=list(range(10, 710)))})
    assert refreshed(device="cpu") == [("rebuild", 700)]
    assert asked == ["cpu"]
    assert refreshed() == [("no_op", 0)]
