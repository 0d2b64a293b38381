"""Group closed labels of a lake on a Spark of its own. Arguments: lake, folder for temporary files, text to look for.

Prints how many files hold what Spark shuffled, and how many of these the text.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import counterbalance as cb

lake, folder, text = sys.argv[1:]
few = "--conf spark.sql.shuffle.partitions=1"
kept = "--conf spark.sql.classic.shuffleDependency.fileCleanup.enabled=false"  # else they go with the query
os.environ |= {"SPARK_MASTER": "local[1]", "SPARK_LOCAL_DIRS": folder}
os.environ["PYSPARK_SUBMIT_ARGS"] = f"{few} {kept} pyspark-shell"
query = "SELECT value, count(*) FROM labels GROUP BY value"
cb.connect(lake).sql(query, engine="spark", sensitive="a test of files").fetchall()
files = [f.read_bytes() for f in Path(folder).rglob("shuffle_*.data")]
sys.stdout.write(f"{len(files)} {sum(text.encode() in data for data in files)}\n")
