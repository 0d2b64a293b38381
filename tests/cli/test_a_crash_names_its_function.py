"""A function of one's own that crashes ends a command with an error that names its file and line."""

from __future__ import annotations

from crashing import CRASH, LINE

import counterbalance as cb


def test_file_and_line_are_told(tmp_path, build, spawn_cli):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1], image_id=[1], text=["x"])}
    )
    (tmp_path / "mine.py").write_text(CRASH)
    done = spawn_cli("sql", tmp_path / "a.lake", "SELECT breaks(text) FROM captions", "--udfs", tmp_path / "mine.py")
    assert done.returncode == 1
    assert "E8012" in done.stderr
    assert f"breaks() at {tmp_path / 'mine.py'}, line {LINE}" in done.stderr
