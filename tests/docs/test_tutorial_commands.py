"""The commands of the tutorials run, in order, in an empty folder, without a network, and print what is shown there."""

from __future__ import annotations

import pytest
import typed

AUDITING, KEEPING = (
    tuple(f"docs/tutorials/{name}.md" for name in names)
    for names in (
        ("coco", "captions-csv", "images-to-labels", "contrast-set", "model-bias"),
        ("coco", "schedule", "ci", "papers", "hugging-face"),
    )
)
"""They go on with the lake of the first."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("files", [AUDITING, KEEPING], ids=["auditing", "keeping"])
def test_every_command_prints_what_is_shown(files, tmp_path, without_network):
    typed.check(files, tmp_path, without_network)


@pytest.mark.timeout(1800)
def test_every_command_of_a_lake_on_s3_prints_what_is_shown(bucket, tmp_path):
    """In a bucket of this machine, so that the network may be asked."""
    typed.check(("docs/tutorials/s3.md",), tmp_path, [])
