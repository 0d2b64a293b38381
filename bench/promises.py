"""Write docs/promises.md: what is promised, how often each promise was tried, at which commit, and which tests show it.

    python bench/promises.py           # runs the tests of every promise, hours on two cores
    python bench/promises.py P7 P18    # of some; the lines of others stay

A line is written when its tests have ended, so that a run that is ended early has written what it tried. Tests say with ``record_property`` how many kills, flips or statements they tried; those numbers are added up. Without it, the
tests themselves are the tries. A promise of which nothing is shown is one that is not kept, and the table says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
TRIES = {
    "COUNTERBALANCE_STATEMENTS": "10000",
    "COUNTERBALANCE_KILLS": "40",
    "COUNTERBALANCE_EXAMPLES": "250",
    "COUNTERBALANCE_READS": "1000",
}
"""Numbers of tries of tests that try at random, where the environment does not say."""
PAGE = ROOT / "docs" / "promises.md"
HEAD = """# What is promised, and what shows it

Made by `python bench/promises.py`, line by line: each says at which commit its tests ran.

| | promise | kept | tried | tests passed | failed | skipped | at | in tests/ |
|---|---|---|---|---|---|---|---|---|"""
PROMISES: dict[str, tuple[str, str]] = {
    "P1": (
        "A killed process leaves whole batches only",
        (
            "ingest/test_ingest_resumes_after_kill refresh/test_refresh_survives_kills catalog/test_declare_survives_kills store/test_deletions_survive_kills "
            "disclosure/test_moving_survives_kills"
        ),
    ),
    "P2": (
        "The same source again changes nothing",
        "ingest/test_ingest_is_idempotent ingest/test_ingest_of_another_spelling_changes_nothing",
    ),
    "P3": ("One writer; keys stay unique", "store/test_writer_lock ingest/test_concurrent_ingests_keep_keys_unique"),
    "P4": (
        "A refresh resumes",
        "executors/test_spool_survives refresh/test_unread_parts_of_a_spool_are_errors refresh/test_refresh_survives_kills cli/test_cli_refresh_interrupt",
    ),
    "P5": ("Reported numbers are the same bytes", "audits/test_audits_are_reproducible"),
    "P6": (
        "With --durable, what is acknowledged survives a power cut",
        "store/test_durable_writes_survive_a_loss_of_power store/test_a_loss_of_power_loses_nothing_acknowledged",
    ),
    "P7": (
        "Corruption is found by verify",
        (
            "store/test_flipped_bits_are_found refresh/test_flipped_bits_of_unpublished_results_are_found store/test_lost_versions_are_found store/test_damaged_files_are_our_errors "
            "store/test_sound_lakes_are_sound cli/test_verify_command"
        ),
    ),
    "P8": (
        "Clean-up never harms",
        "refresh/test_gc refresh/test_gc_beside_readers store/test_reader_pins store/test_lakes_on_odd_paths_are_cleaned",
    ),
    "P9": (
        "A full disk is a clean error",
        "ingest/test_failed_source_leaves_the_lake_untouched executors/test_spool_survives shell/test_shell_output_files",
    ),
    "P10": (
        "A bad item is refused by row and counted",
        (
            "ingest/test_webdataset_malformed_shards ingest/test_coco_odd_documents ingest/test_tabular_odd_files ingest/test_laion_rejects ingest/test_odd_files_are_refused "
            "ingest/test_names_that_stand_twice_are_refused"
        ),
    ),
    "P11": (
        "What is stored is valid",
        (
            "ingest/test_stored_pictures_are_decoded ingest/test_unknown_images_are_refused ingest/test_coco_odd_documents "
            "ingest/test_failed_source_leaves_the_lake_untouched"
        ),
    ),
    "P12": ("Decoding is bounded", "ingest/test_pictures_are_decoded_safely ingest/test_image_headers_hostile"),
    "P13": ("Queries only read", "session/test_attacks_are_refused"),
    "P14": (
        "Limits hold, planning and Python included",
        "isolation/test_runaway_queries_end_at_their_limits isolation/test_large_statements_are_refused isolation/test_hogs_end_in_time cli/test_cli_sql_limits",
    ),
    "P15": (
        "A crash costs the query",
        "isolation/test_crashes_cost_the_query isolation/test_isolated_sessions_are_like_others",
    ),
    "P16": (
        "Perceived labels are closed",
        (
            "disclosure/test_sensitive_labels_are_not_read disclosure/test_sensitive_columns_are_hidden disclosure/test_another_user_reads_nothing_closed "
            "disclosure/test_arguments_of_audits_have_the_callers_rights disclosure/test_statements_do_not_interfere "
            "disclosure/test_the_past_is_as_closed_as_it_was disclosure/test_replaced_views_stay_closed "
            "disclosure/test_closed_tables_lie_in_the_closed_folder disclosure/test_errors_of_closed_things_tell_no_values "
            "disclosure/test_errors_of_audits_quote_no_label disclosure/test_dropped_names_stay_closed "
            "disclosure/test_what_is_declared_anew_is_not_published disclosure/test_files_of_ones_own_have_the_callers_rights "
            "disclosure/test_another_lakes_labels_are_rows_of_ones_own disclosure/test_closed_tables_on_an_object_store "
            "disclosure/test_lakes_of_earlier_releases_are_enclosed disclosure/test_audits_of_the_past_need_a_purpose "
            "disclosure/test_labels_made_by_models_are_sensitive disclosure/test_lost_definitions_open_nothing "
            "disclosure/test_sensitive_labels_are_kept_apart disclosure/test_sensitive_labels_in_nested_arguments "
            "disclosure/test_sizes_of_closed_views_are_not_told disclosure/test_an_ingest_answers_no_guess "
            "disclosure/test_names_of_labels_of_people_are_closed_however_spelled disclosure/test_no_error_tells_who_is_labelled "
            "disclosure/test_openlineage_tells_nothing_closed disclosure/test_refused_rows_are_not_quoted "
            "disclosure/test_functions_of_ones_own_stand_in_no_audit disclosure/test_named_labels_are_no_concepts "
            "disclosure/test_views_declared_before_their_labels_are_closed disclosure/test_no_note_tells_which_hidden_label_is_small "
            "disclosure/test_estimates_count_nothing_closed disclosure/test_versions_of_closed_tables_are_not_told "
            "disclosure/test_what_is_made_of_closed_views_answers_no_guess"
        ),
    ),
    "P17": ("Small cells do not follow", "disclosure/*"),
    "P18": (
        "What is deleted leaves every byte",
        "store/test_deleted_images_leave_no_byte store/test_deleted_images_do_not_come_back",
    ),
    "P19": ("No code of a model file runs", "udfs/test_hostile_weights_run_nothing"),
    "P20": (
        "No network unless asked",
        "cli/test_nothing_asks_the_network udfs/test_no_model_asks_the_network docs/test_readme_commands",
    ),
    "P21": (
        "Members and names are not paths",
        "ingest/test_webdataset_tar_walk ingest/test_imagefolder_links ingest/test_coco_pictures",
    ),
    "P22": (
        "HTTP: loopback, token, no CORS",
        "ui/test_only_who_has_the_token_is_let_in ui/test_queries_are_run_and_nothing_else",
    ),
    "P23": (
        "Output holds no controls and no formulas",
        "shell/test_shell_text_is_escaped shell/test_shell_csv_output shell/test_files_hold_no_controls",
    ),
    "P24": (
        "Every access to labels is logged",
        "disclosure/test_sensitive_labels_access_is_logged disclosure/test_a_removed_access_log_shows disclosure/test_the_access_log_names_closed_columns",
    ),
    "P25": (
        "A reader sees one version",
        "refresh/test_readers_never_see_half_a_refresh catalog/test_snapshot_during_an_ingest",
    ),
}


def files_of(words: str) -> list[Path]:
    """The files of some tests; of a folder, those that no promise names by themselves."""
    named = {word for _, promised in PROMISES.values() for word in promised.split()}
    found: dict[str, list[Path]] = {}
    for word in words.split():
        files = sorted((ROOT / "tests").glob(f"{word}.py"))
        tests = [file for file in files if file.stem.startswith("test_")]
        found[word] = tests if "*" not in word else [f for f in tests if name_of(f) not in named]
    if missing := [word for word, files in found.items() if not files]:
        raise SystemExit(f"no such tests: {', '.join(missing)}")
    return [file for files in found.values() for file in files]


def name_of(file: Path) -> str:
    """The name of a file of tests, as promises name it."""
    return f"{file.parent.name}/{file.stem}"


def run(files: list[Path]) -> dict[Path, tuple[Counter[str], Counter[str]]]:
    """Run tests; by file how many passed, failed and were skipped, and what was tried how often."""
    found: dict[Path, tuple[Counter[str], Counter[str]]] = {file: (Counter(), Counter()) for file in files}
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-m", "thorough or not thorough", "-n", "2", "--dist", "worksteal", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *map(str, files)]
        subprocess.run(command, cwd=ROOT, env=TRIES | os.environ, check=False, stdout=sys.stderr)
        for case in ET.parse(report).getroot().iter("testcase"):
            file = ROOT / (case.get("classname", "").replace(".", "/") + ".py")
            if file not in found:  # what broke a run stands in no file
                continue
            ended = {child.tag for child in case}
            bad = ended & {"failure", "error"}
            ends, tried = found[file]
            ends["failed" if bad else "skipped" if "skipped" in ended else "passed"] += 1
            if not bad:
                for noted in case.iter("property"):
                    tried[noted.get("name", "")] += int(noted.get("value", 0))
    return found


def row(name: str, commit: str) -> str:
    """Try a promise; its line of the table."""
    what, words = PROMISES[name]
    found = run(files_of(words))
    ends = sum((ends for ends, _ in found.values()), Counter())
    tried = sum((tried for _, tried in found.values()), Counter())
    # a worker that was lost takes the rest of its tests with it
    lost = [file.stem for file, (ends, _) in found.items() if not ends]
    kept = bool(ends["passed"]) and not (ends["failed"] or lost)
    state = "yes" if kept else f"**not kept**: {', '.join(lost) or 'tests fail'}"
    counts = ", ".join(f"{count:,} {of}" for of, count in sorted(tried.items()))
    numbers = " | ".join(str(ends[n]) for n in ("passed", "failed", "skipped"))
    tests = ", ".join(f"`{word}`" for word in words.split()).replace("*`", "*` but those of other promises")
    return f"| {name} | {what} | {state} | {counts} | {numbers} | {commit} | {tests} |"


def main(names: list[str]) -> None:
    """Run the tests of some promises, or of all, and write their lines."""
    git = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    for name in names or PROMISES:
        line = row(name, commit)
        old = PAGE.read_text().splitlines() if PAGE.exists() else []
        lines = {text.split()[1]: text for text in old if text.startswith("| P")} | {name: line}
        PAGE.write_text("\n".join([HEAD, *(lines[name] for name in PROMISES if name in lines)]) + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
