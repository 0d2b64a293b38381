"""Credentials that are given by hand serve Lance, the lock, the spool and the listing alike; nothing is in the environment."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb


def test_a_lake_on_s3_with_options_by_hand(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    system = s3fs.S3FileSystem(key="k", secret="s", endpoint_url=s3_endpoint, skip_instance_cache=True)
    system.mkdir("byhand")
    options = {
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
        "aws_region": "us-east-1",
        "aws_endpoint": s3_endpoint,
        "allow_http": "true",
    }
    lake = cb.connect("s3://byhand/my.lake", options)
    lake.ingest({"images": pa.table({"image_id": [1, 2, 3], "key": ["a", "bb", "ccc"]})})
    lake.add_column("images", "size", "length(key)")
    assert lake.refresh(executor="inline").mode == "rebuild"
    assert lake.sql("SELECT sum(size) FROM images").fetchall() == [(6,)]
    assert lake.refresh(executor="inline").mode == "no_op"
