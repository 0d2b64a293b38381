"""On a cluster of two worker processes rows are as on DuckDB, and a worker that is killed costs a retry, not the answer."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from repeats import again
from spark_marks import QUIET

import counterbalance as cb

pytestmark = [
    pytest.mark.slow,
    QUIET,
    pytest.mark.skipif(not Path("/proc").exists(), reason="the program that kills a worker looks for it in /proc"),
]
IMAGES = 120
PARTS = 4


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, build):
    """A lake of several fragments, and a Spark of a master and two workers, which the environment names."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java, and there is none: install a JRE, such as openjdk-17-jre-headless")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install counterbalance[spark]")
    lake = cb.connect(tmp_path_factory.mktemp("cluster") / "a.lake")
    ids = list(range(IMAGES))
    lake.ingest(
        {"images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=[100 + i % 7 for i in ids], height=ids)}
    )
    for at in range(PARTS):
        part = ids[at::PARTS]
        texts = [f"a {'man' if i % 3 else 'woman'} with a {'dog' if i % 2 else 'cat'}" for i in part]
        lake.ingest({"captions": build.captions(caption_id=part, image_id=part, text=texts)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_MASTER", "local-cluster[2,1,1024]")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield lake
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        active.stop()


def both(lake, query, **options):
    with lake.session() as duckdb, lake.session(engine="spark", **options) as spark:
        ours, theirs = (session.sql(query).to_arrow() for session in (duckdb, spark))
    assert theirs.schema == ours.schema
    assert ours.num_rows
    for mine, other in zip(ours.to_pylist(), theirs.to_pylist(), strict=True):
        for name, value in mine.items():
            assert other[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name


def test_each_worker_reads_fragments(cluster):
    from pyspark.sql import SparkSession

    both(cluster, "SELECT image_id, text FROM captions ORDER BY image_id")
    context = SparkSession.getActiveSession().sparkContext
    assert context.master == "local-cluster[2,1,1024]"
    for _ in range(600):  # a worker may register after the other has answered
        if context._jsc.sc().getExecutorMemoryStatus().size() == 3:
            break
        time.sleep(0.1)
    assert context._jsc.sc().getExecutorMemoryStatus().size() == 3  # the driver and two workers


@pytest.mark.thorough
@pytest.mark.parametrize(
    "audit", ["demographics()", *again("cooccurrence(caption_gender, word_concepts)", "sentiment()")]
)
def test_audits_are_the_same(cluster, audit):
    both(cluster, f"SELECT * FROM {audit}")


def test_a_killed_worker_costs_a_retry(cluster, project_root, tmp_path):
    from counterbalance.engine import functions

    mark = tmp_path / "killed"
    functions.load_file(project_root / "tests" / "programs" / "spark_killers.py")
    kept = "SELECT image_id, count(*) AS n FROM captions GROUP BY image_id"  # named twice, and so kept by the workers
    query = f"WITH a AS ({kept}) SELECT sum(doubled_or_dead(x.image_id, mark := '{mark}') * y.n) AS s FROM a AS x JOIN a AS y USING (image_id)"
    with cluster.session(engine="spark") as spark:
        assert spark.sql(query).fetchall() == [(sum(2 * i for i in range(IMAGES)),)]
    assert mark.exists()
