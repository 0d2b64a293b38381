"""``refresh --due`` does what is due once, however many call it at the same time, and leaves the rest alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CALLERS = 6


def refreshed(lake):
    query = "SELECT target, mode FROM meta.runs WHERE kind = 'refresh' AND mode <> 'no_op' ORDER BY target"
    return lake.sql(query).fetchall()


@pytest.mark.thorough
def test_many_callers_at_once(disk_lake, build, tmp_path):
    ids = list(range(50))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
        }
    )
    disk_lake.add_column("captions", "yearly", "upper(text)", schedule="@yearly")
    disk_lake.add_column("captions", "needed", "lower(text)")
    disk_lake.create_materialized_view("v", "SELECT caption_id, needed FROM captions", "caption_id", schedule="@yearly")
    disk_lake.add_column("captions", "unscheduled", "length(text)")
    command = [
        sys.executable,
        "-m",
        "counterbalance",
        "refresh",
        disk_lake.uri,
        "--due",
        "--json",
        "--progress",
        "never",
    ]
    calls = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(CALLERS)
    ]
    told = [(call.communicate(timeout=300), call.returncode) for call in calls]
    codes = sorted(code for _, code in told)
    assert set(codes) <= {0, 75}
    assert 0 in codes
    assert all(json.loads(err)["error"]["retryable"] for (_, err), code in told if code == 75)
    done = [
        s["target"] for (out, _), code in told if code == 0 for s in json.loads(out)["stages"] if s["mode"] != "no_op"
    ]
    assert sorted(done) == ["captions.needed", "captions.yearly", "v"]
    assert refreshed(disk_lake) == [("captions.needed", "rebuild"), ("captions.yearly", "rebuild"), ("v", "rebuild")]
    disk_lake.refresh(due=True)
    assert len(refreshed(disk_lake)) == 3
