"""Dot commands, formats and files of a session."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.shell.dots import COMMANDS
from counterbalance.shell.interpreter import Interpreter
from counterbalance.shell.output import OutputOptions


@pytest.fixture
def shell(lake):
    with lake.session() as session:
        yield Interpreter(session, OutputOptions("csv"))


def test_help_lists_every_command(shell, capsys):
    shell.step(".help")
    text = " ".join(capsys.readouterr().out.split())  # the terminal's width wraps it
    assert all(f"{name} " in text and dot.doc in text for name, dot in COMMANDS.items())


def test_tables(shell, capsys):
    shell.step(".tables")
    out, err = capsys.readouterr()
    assert out.startswith("Tables\n  captions ")
    assert "meta.runs" not in out
    assert "--all" in err
    shell.step(".tables --all")
    text = capsys.readouterr().out
    assert "  meta.runs " in text
    assert "  retrieval_bias " in text


def test_schema_of_one(shell, capsys):
    shell.step(".schema captions;")
    assert capsys.readouterr().out == (
        "captions  -- one row a caption; an image has none, one or several\n"
        "  caption_id  int64\n  image_id    int64\n  text        string\n  origin      string\n  similarity  float\n"
    )


def test_schema_of_all(shell, capsys):
    shell.step(".schema")
    text = capsys.readouterr().out
    assert "images  -- one row an image\n" in text
    assert "detections  -- one row a box\n" in text


def test_schema_of_a_view(shell, capsys):
    shell.step(".schema Caption_Gender_Gensynth")
    assert capsys.readouterr().out.splitlines()[1:] == ["  image_id  int64", "  label     string"]
    shell.step(".schema image_labels")
    assert len(capsys.readouterr().out.splitlines()) == 1  # its columns depend on what it is given


def test_parameters(shell, capsys):
    shell.step(".param word=%a%")
    shell.step(".param $n = [1, 2]")
    shell.step("SELECT $word AS word, len($n) AS n;")
    assert capsys.readouterr().out == "word,n\n%a%,2\n"
    shell.step(".param")
    assert capsys.readouterr().out == "$word  '%a%'\n$n     [1, 2]\n"
    with pytest.raises(RequestError, match="NAME=VALUE"):
        shell.step(".param word")


def test_schema_of_none(shell):
    with pytest.raises(NotFoundError, match="no table 'captoins'; did you mean 'captions'"):
        shell.step(".schema captoins")


def test_audits(shell, capsys):
    shell.step(".audits")
    assert "\n  retrieval_bias  " in capsys.readouterr().out
    shell.step(".audits retrieval_bias")
    assert "Parameters:" in capsys.readouterr().out
    with pytest.raises(NotFoundError, match="no audit 'x'"):
        shell.step(".audits x")


def test_functions(shell, capsys):
    shell.step(".functions")
    assert "gender_words(text" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("format_", "text"), [("json", '[{"a":1}]\n'), ("tsv", "a\n1\n"), ("markdown", "| a |\n| ---: |\n| 1 |\n")]
)
def test_mode(format_, text, shell, capsys):
    shell.step(f".mode {format_}")
    shell.step("SELECT 1 AS a")
    assert capsys.readouterr().out == text


def test_mode_alone_says_which(shell, capsys):
    shell.step(".mode")
    assert capsys.readouterr().err == "csv\n"


def test_once(shell, tmp_path, capsys):
    path = tmp_path / "out.json"
    shell.script(f".once {path}\nSELECT 1 AS a;\nSELECT 2 AS a;")
    assert json.loads(path.read_text()) == [{"a": 1}]
    out, err = capsys.readouterr()
    assert out == "a\n2\n"
    assert err == f"1 row written to {path}\n"


@pytest.mark.parametrize("command", [".once", ".output"])
def test_a_file_of_no_known_format_is_refused(shell, tmp_path, command):
    with pytest.raises(RequestError, match=r"no format is known for 'out\.foo'; known are .*\.parquet") as caught:
        shell.step(f"{command} {tmp_path}/out.foo")
    assert caught.value.hint == ".once out.csv"
    shell.step("SELECT 1 AS a")
    assert not [*tmp_path.iterdir()]


def test_once_is_over_after_an_error_too(shell, tmp_path, capsys):
    path = tmp_path / "out.json"
    shell.step(f".once {path}")
    with pytest.raises(NotFoundError):
        shell.step("SELECT * FROM nowhere")
    shell.step("SELECT 2 AS a")
    assert capsys.readouterr().out == "a\n2\n"
    assert not path.exists()


def test_output_and_back(shell, tmp_path, capsys):
    path = tmp_path / "out.txt"
    shell.script(f".mode csv\n.output {tmp_path}/out.csv\nSELECT 1 AS a;\nSELECT 2 AS a;\n.output\nSELECT 3 AS a;")
    assert (tmp_path / "out.csv").read_text() == "a\n1\na\n2\n"
    assert capsys.readouterr().out == "a\n3\n"
    assert not path.exists()


def test_output_refuses_formats_of_one_result(shell, tmp_path):
    with pytest.raises(RequestError, match="parquet holds one result") as caught:
        shell.step(f".output {tmp_path}/out.parquet")
    assert ".once" in caught.value.hint


def test_read(shell, tmp_path, capsys):
    path = tmp_path / "q.sql"
    path.write_text("SELECT 1 AS a; SELECT 2 AS b;")
    shell.step(f".read {path}")
    assert capsys.readouterr().out == "a\n1\nb\n2\n"
    with pytest.raises(NotFoundError, match="cannot read"):
        shell.step(".read nowhere.sql")


def test_timer(shell, capsys):
    shell.step(".timer on")
    shell.step("SELECT 1 AS a")
    shell.step(".timer off")
    shell.step("SELECT 1 AS a")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("1 row in 0.")
    with pytest.raises(RequestError, match="on or off"):
        shell.step(".timer maybe")


def test_explain_and_expand_run_nothing(shell, capsys):
    shell.step(".explain SELECT error('ran') FROM captions")
    shell.step(".expand SELECT error('ran') AS x FROM captions;")
    out = capsys.readouterr().out
    assert "projection" in out.lower()
    assert out.lower().rstrip().endswith("from captions")


def test_versions(shell, capsys):
    shell.step(".versions")
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} >= {"images", "captions"}


def test_unknown_command(shell):
    with pytest.raises(RequestError, match=r"no command '\.tabels'; did you mean '\.tables'") as caught:
        shell.step(".tabels")
    assert caught.value.code == "E3024"


def test_unknown_mode(shell):
    with pytest.raises(RequestError, match="no format 'jason'; did you mean 'json'") as caught:
        shell.step(".mode jason")
    assert caught.value.code == "E3025"


def test_quit_ends_a_script(shell, capsys):
    shell.script("SELECT 1 AS a;\n.quit\nSELECT 2 AS a;")
    assert shell.done
    assert capsys.readouterr().out == "a\n1\n"


def test_one_session_sees_one_version(shell, lake, build, capsys):
    shell.step("SELECT count(*) AS n FROM images")
    lake.ingest({"images": build.images(image_id=[99], key=["new"])})
    shell.step("SELECT count(*) AS n FROM images")
    assert capsys.readouterr().out == "n\n6\nn\n6\n"


def test_the_session_lives_on_after_errors_and_limits(lake, capsys):
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 0"
    with lake.session() as session:
        shell = Interpreter(session, OutputOptions("csv"), limit=0.3)
        with pytest.raises(Exception, match=r"stopped after 0\.3 s"):
            shell.step(endless)
        with pytest.raises(Exception, match="nowhere"):
            shell.step("SELECT * FROM nowhere")
        shell.step("SELECT count(*) AS n FROM images")
    assert capsys.readouterr().out == "n\n6\n"


def test_output_to_the_screen_is_as_before(shell, capsys, tmp_path):
    for step in (".mode jsonl", f".output {tmp_path / 'a.csv'}", "SELECT 1 AS a", f".output {tmp_path / 'b.csv'}"):
        shell.step(step)
    shell.step(".output")
    shell.step("SELECT 2 AS a")
    assert capsys.readouterr().out == '{"a":2}\n'
    shell.step(".output")
    shell.step(".mode")
    assert capsys.readouterr().err == "jsonl\n"
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"


def test_a_file_that_reads_itself(shell, tmp_path, capsys):
    file = tmp_path / "self.sql"
    file.write_text(f".read {file}\n")
    with pytest.raises(RequestError, match="is read by itself"):
        shell.step(f".read {file}")
    other = tmp_path / "other.sql"
    other.write_text("SELECT 5 AS a;")
    file.write_text(f".read {other}\n.read {other}\n")
    shell.step(f".read {file}")
    assert capsys.readouterr().out == "a\n5\n" * 2


def test_read_needs_a_file(shell):
    with pytest.raises(RequestError, match=r"\.read needs a FILE"):
        shell.step(".read")


def test_a_bar_is_gone_when_the_result_comes(lake, capsys):
    """A result that came earlier would stand on the line of the bar."""
    lake.add_column("captions", "long", "length(text)")
    with lake.session() as session:
        shell = Interpreter(session, OutputOptions("csv"), progress="always")
        seen = []

        def write(rows, *rest, **more):
            first = rows.read_next_batch()
            seen.append(capsys.readouterr().err)
            return written(pa.Table.from_batches([first]).to_reader(), *rest, **more)

        from counterbalance.shell import output

        written = output.write
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(output, "write", write)
            shell.step("REFRESH captions.long")
    (before,) = seen
    assert before.count("\x1b[?25l") == before.count("\x1b[?25h") == 1, "the cursor is shown again"


def test_functions_of_a_name(shell, capsys):
    shell.step(".functions Vader")
    out = capsys.readouterr().out
    assert out.startswith("vader(")
    assert "lemmas(" not in out
    with pytest.raises(NotFoundError, match="no function 'vadr'"):
        shell.step(".functions vadr")


def test_exit_is_quit(shell):
    shell.step(".exit")
    assert shell.done


def test_what_others_wrote_is_told_when_it_is_seen(shell, lake, build, capsys):
    lake.ingest({"images": build.images(image_id=[77])})
    shell.step("SELECT count(*) AS n FROM images")
    assert capsys.readouterr().out == "n\n6\n"
    shell.step("ALTER TABLE captions ADD COLUMN long AS (length(text))")
    assert "others have written to the lake meanwhile" in capsys.readouterr().err
    shell.step("SELECT count(*) AS n FROM images")
    assert capsys.readouterr().out == "n\n7\n"
    shell.step("ALTER TABLE captions ADD COLUMN longer AS (length(text) + 1)")
    shell.step("REFRESH captions.long")
    shell.step("REFRESH captions.longer")
    assert "others have written" not in capsys.readouterr().err
