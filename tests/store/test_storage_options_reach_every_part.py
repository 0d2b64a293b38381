"""Credentials that are given by hand serve Lance, the lock, the spool and the listing alike; nothing is in the environment."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SourceError, StorageError


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


def test_nobody_is_refused_at_once_and_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path, s3_endpoint: str
) -> None:
    pytest.importorskip("botocore")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    calls = (
        ("E6016", lambda: cb.connect("s3://nobody/my.lake").sql("SELECT 1").fetchall()),
        (
            "E6016",
            lambda: cb.connect("s3://nobody/my.lake").ingest({"images": pa.table({"image_id": [1], "key": ["a"]})}),
        ),
        ("E4001", lambda: cb.connect(str(tmp_path / "a.lake")).ingest("s3://nobody/labels.csv", "labels")),
    )
    for code, call in calls:
        with pytest.raises((StorageError, SourceError), match="credentials") as caught:
            call()
        assert "AWS_ACCESS_KEY_ID" in (caught.value.hint or "")
        assert caught.value.code == code


def test_public_data_are_read_unsigned(s3_lake: cb.Lake, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    import fsspec

    s3_lake.ingest({"images": pa.table({"image_id": [1, 2], "key": ["a", "b"]})})
    bucket = s3_lake.uri.split("/")[2]
    with fsspec.open(f"s3://{bucket}/labels.csv", "w") as file:
        file.write("key,attribute,value\na,x,1\n")
    anyone = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [anyone]})
    fsspec.filesystem("s3").call_s3("put_bucket_policy", Bucket=bucket, Policy=policy)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert cb.connect(s3_lake.uri).sql("SELECT count(*) FROM images").fetchall() == [(2,)]
    report = cb.connect(str(tmp_path / "a.lake")).ingest(f"s3://{bucket}/labels.csv", "labels", dry_run=True)
    assert report.rows_read == 1


@pytest.mark.parametrize("time", [1, 2])
def test_credentials_of_an_earlier_test_are_forgotten(
    time: int, monkeypatch: pytest.MonkeyPatch, s3_endpoint: str
) -> None:
    """Each time the environment has others; a file system that was kept would ask with those of the first."""
    import fsspec

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", f"key-{time}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    system = fsspec.filesystem("s3")
    system.ls("")
    assert f"key-{time}" in system.sign("s3://bucket/file")
