"""The Spark session that queries run in: one that is there, or one made by what the environment says."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import RequestError, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING: Final = Path(__file__).with_name("log4j2.properties")
_MASTERS: Final = ("SPARK_MASTER", "MASTER")
_OURS: Final = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.io.encryption.enabled": "true",  # what it spills and shuffles lies in folders that other users can read
}
"""Of a Spark that is started here, where nothing else says so."""
_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",  # ${env:…} in a text is text
    "spark.sql.python.filterPushdown.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",  # Spark 4.3 mixes up those of rows that it keeps where they are united with themselves
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
}
"""Of the session that queries run in, whatever others of the same Spark have."""


def connected() -> SparkSession:
    """Return a session of its own: views, functions and settings are no other session's.

    The Spark that is active in this process; else the one of ``SPARK_REMOTE``, or of the master in ``SPARK_MASTER`` or ``MASTER``;
    else one that is started on all cores of this machine.

    Raises:
        RequestError: Spark or Java is not installed (``E3470``), or no Spark answers (``E3471``).
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        from pyspark.errors import PySparkException
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession

        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True  # it writes values of rows to stderr
    except ImportError as error:
        raise RequestError(
            "the engine spark needs PySpark, which is not installed",
            code="E3470",
            hint="pip install 'counterbalance[spark]'",
        ) from error
    try:
        spark = SparkSession.getActiveSession() or _started(SparkSession)
        own = spark.newSession() if hasattr(spark, "newSession") else spark
    except (PySparkException, RuntimeError, OSError) as error:
        raise RequestError(
            f"no Spark can be reached: {first_line(error)}",
            code="E3471",
            hint="it needs Java 17 or newer; SPARK_REMOTE or SPARK_MASTER name a cluster",
        ) from error
    for key, value in _SETTINGS.items():
        own.conf.set(key, value)
    return own


def _started(kind: type[SparkSession]) -> SparkSession:
    builder = kind.builder.appName("counterbalance")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if "SPARK_REMOTE" in os.environ:
        return builder.getOrCreate()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}")
    builder = builder.master(next((os.environ[name] for name in _MASTERS if os.environ.get(name)), "local[*]"))
    for key, value in _OURS.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lance is not fork-safe", UserWarning)  # a child that starts Java at once
        return builder.getOrCreate()
