"""Write docs/promises.md: what is promised, and how many tests show each promise now.

    python bench/promises.py            # runs the tests of every promise, a quarter of an hour on two cores
    python bench/promises.py P7 P18     # of some, printed and not written

A promise without tests is one that is not kept, and the table says so.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PROMISES: dict[str, tuple[str, str]] = {
    "P1": (
        "A killed process leaves whole batches only",
        (
            "test_ingest_resumes_after_kill test_refresh_survives_kills test_declare_survives_kills store/test_deletions_survive_kills "
            "disclosure/test_moving_survives_kills"
        ),
    ),
    "P2": (
        "The same source again changes nothing",
        "test_ingest_is_idempotent test_ingest_of_another_spelling_changes_nothing",
    ),
    "P3": ("One writer; keys stay unique", "test_writer_lock test_concurrent_ingests_keep_keys_unique"),
    "P4": ("A refresh resumes", "test_spool_survives refresh/test_unread_parts_of_a_spool_are_errors"),
    "P5": ("Reported numbers are the same bytes", "test_audits_are_reproducible"),
    "P6": (
        "With --durable, what is acknowledged survives a power cut",
        "store/test_durable_writes_survive_a_loss_of_power",
    ),
    "P7": (
        "Corruption is found by verify",
        (
            "store/test_flipped_bits_are_found store/test_lost_versions_are_found store/test_damaged_files_are_our_errors "
            "store/test_sound_lakes_are_sound"
        ),
    ),
    "P8": (
        "Clean-up never harms",
        "test_gc test_gc_beside_readers test_reader_pins store/test_lakes_on_odd_paths_are_cleaned",
    ),
    "P9": ("A full disk is a clean error", "test_failed_source_leaves_the_lake_untouched"),
    "P10": (
        "A bad item is refused by row and counted",
        (
            "test_webdataset_malformed_shards test_coco_odd_documents test_tabular_odd_files test_laion_rejects ingest/test_odd_files_are_refused "
            "ingest/test_names_that_stand_twice_are_refused"
        ),
    ),
    "P11": ("What is stored is valid", "ingest/test_stored_pictures_are_decoded test_unknown_images_are_refused"),
    "P12": ("Decoding is bounded", "test_pictures_are_decoded_safely test_image_headers_hostile"),
    "P13": ("Queries only read", "test_attacks_are_refused"),
    "P14": (
        "Limits hold, planning and Python included",
        "session/test_runaway_queries_end_at_their_limits session/test_large_statements_are_refused test_hogs_end_in_time test_cli_sql_limits",
    ),
    "P15": (
        "A crash costs the query",
        "session/test_crashes_cost_the_query session/test_isolated_sessions_are_like_others",
    ),
    "P16": (
        "Perceived labels are closed",
        (
            "test_sensitive_labels_are_not_read test_sensitive_columns_are_hidden disclosure/test_another_user_reads_nothing_closed "
            "disclosure/test_arguments_of_audits_have_the_callers_rights disclosure/test_statements_do_not_interfere "
            "disclosure/test_the_past_is_as_closed_as_it_was disclosure/test_replaced_views_stay_closed "
            "disclosure/test_closed_tables_lie_in_the_closed_folder disclosure/test_errors_of_closed_things_tell_no_values"
        ),
    ),
    "P17": (
        "Small cells do not follow",
        (
            "disclosure/test_no_hidden_count_follows_by_linear_programming disclosure/test_no_audit_gives_a_small_cell_away "
            "disclosure/test_numbers_do_not_cut_whom_an_audit_counts disclosure/test_a_coarse_grid_must_not_tell_of_few"
        ),
    ),
    "P18": (
        "What is deleted leaves every byte",
        "store/test_deleted_images_leave_no_byte store/test_deleted_images_do_not_come_back",
    ),
    "P19": ("No code of a model file runs", "models/test_hostile_weights_run_nothing"),
    "P20": ("No network unless asked", ""),
    "P21": ("Members and names are no paths", "test_webdataset_tar_walk test_imagefolder_links test_coco_pictures"),
    "P22": ("HTTP: loopback, token, no CORS", ""),
    "P23": ("Output holds no controls and no formulas", "test_shell_text_is_escaped test_shell_csv_output shell/*"),
    "P24": (
        "Every access to labels is logged",
        "test_sensitive_labels_access_is_logged disclosure/test_a_removed_access_log_shows disclosure/test_the_access_log_names_closed_columns",
    ),
    "P25": ("A reader sees one version", "test_readers_never_see_half_a_refresh test_snapshot_during_an_ingest"),
}


def counted(words: str) -> dict[str, int]:
    """Run tests; how many passed, failed and were skipped."""
    tests = ROOT / "tests"
    files = [str(f) for word in words.split() for f in sorted(tests.glob(f"{word}.py"))]
    if len(files) < len(words.split()):
        raise SystemExit(f"no such test among {words}")
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", f"--junitxml={report}", *files]
        subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
        suite = ET.parse(report).getroot().find("testsuite")
    assert suite is not None
    found = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    bad = found["failures"] + found["errors"]
    return {"passed": found["tests"] - bad - found["skipped"], "failed": bad, "skipped": found["skipped"]}


def main(names: list[str]) -> None:
    """Run the tests of some promises, or of all, and write the table."""
    lines = ["| | promise | tests passed | failed | skipped | in tests/ |", "|---|---|---|---|---|---|"]
    for name, (what, words) in PROMISES.items():
        if names and name not in names:
            continue
        if not words:
            lines.append(f"| {name} | {what} | none | | | no test of its own |")
            continue
        found = counted(words)
        numbers = " | ".join(str(found[n]) for n in ("passed", "failed", "skipped"))
        lines.append(f"| {name} | {what} | {numbers} | {', '.join(f'`{w}`' for w in words.split())} |")
    table = "\n".join(lines) + "\n"
    if names:
        print(table)
        return
    text = "# What is promised, and what shows it\n\nMade by `python bench/promises.py`.\n\n"
    (ROOT / "docs" / "promises.md").write_text(text + table)


if __name__ == "__main__":
    main(sys.argv[1:])
