"""Airflow: look every 15 minutes for what is due; a lake that is busy skips the task."""

from __future__ import annotations

import datetime as dt
import shlex

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

COMMAND = ["counterbalance", "refresh", "/data/coco.lake", "--due", "--progress", "never", "--json"]

with DAG(
    dag_id="counterbalance_refresh",
    schedule="*/15 * * * *",
    start_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    catchup=False,
    max_active_runs=1,
) as dag:
    refresh = BashOperator(task_id="refresh", bash_command=shlex.join(COMMAND), skip_on_exit_code=75)
