"""A lake is opened without reading its rows, also where a coded column has no value, and so no dictionary."""

from __future__ import annotations

import lance


def test_no_table_is_scanned(disk_lake, build, monkeypatch):
    scanned = []
    real = lance.LanceDataset.scanner

    def scanner(dataset, *args, **how):
        scanned.append(dataset.uri.rpartition("/")[2])
        return real(dataset, *args, **how)

    disk_lake.ingest({
        "images": build.images(image_id=[1, 2], key=["a", "b"]),
        "captions": build.captions(caption_id=[1], image_id=[1], text=["a dog"]),
    })  # fmt: skip
    monkeypatch.setattr(lance.LanceDataset, "scanner", scanner)
    with disk_lake.session():
        assert {"images.lance", "captions.lance"}.isdisjoint(scanned)
    disk_lake.status()
    assert {"images.lance", "captions.lance"}.isdisjoint(scanned)
