"""What learns inside of an audit ends at ``--timeout`` and at Ctrl-C, on the command line and in Python, while it learns.

Each would learn for years. That it learns is known from what it tells; how fast the machine is does not matter.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from terminal import Terminal

import counterbalance as cb
from counterbalance.engine.progress import heard_by

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

IMAGES = 60
NEVER = {"seeds": 1_000_000, "min_count": 1}
EPOCHS = {"epochs": 1_000_000_000}  # of so few images none is held back to stop by
VECTORS = "(SELECT image_id, [CAST(image_id % 2 AS FLOAT), 1] AS embedding FROM images)"
EDITED = "(SELECT image_id, 'female' AS label, [0.5, CAST(image_id AS FLOAT)] AS embedding FROM images)"
SAID = {"human": "captions", "generated": "captions"}
LEARNERS = {
    "mlp": ("leakage", {"data": "word_concepts", "attacker": "mlp", **EPOCHS}),
    "lstm": ("lic", {**SAID, "attacker": "lstm", **EPOCHS}),
    "mlp of vectors": ("spurious_probe", {"vectors": VECTORS, "vector_attacker": "mlp", "seeds": 1, **EPOCHS}),
    "attack_sets": ("leakage", {"data": "word_concepts"}),
    "attack_texts": ("lic", SAID),
    "attack_vectors": ("artifact_shift", {"edited": EDITED, "originals": VECTORS}),
}
"""By the first word of what it tells: the audit and its arguments."""
LIMITS = (16, 64, 256)
"""Seconds; the next one where it had not begun to learn before the one before was over."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build):
    place = tmp_path_factory.mktemp("learners")
    ids = list(range(IMAGES))
    texts = [f"a {'man with a tie' if i % 2 else 'woman with a scarf'} and a dog" for i in ids]
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    captions = build.captions(caption_id=ids, image_id=ids, text=texts)
    cb.connect(place / "own.lake").ingest({"images": images, "captions": captions})
    return place


@pytest.fixture
def begin(folder):
    """``begin(learner, limit)``: the audit on a terminal, with so many seconds (0: no limit); killed in the end if need be."""
    started = []

    def start(learner, limit):
        audit, arguments = LEARNERS[learner]
        words = [f"{name}={value}" for name, value in (NEVER | arguments).items()]
        started.append(Terminal(["audit", "own.lake", audit, *words, "--timeout", str(limit)], folder))
        return started[-1]

    yield start
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()


def test_each_tells_that_it_learns(folder):
    """Of a few cuts and epochs, so that the names below are those that are told."""
    with cb.connect(folder / "own.lake").session() as session:
        for learner, (audit, arguments) in LEARNERS.items():
            heard = []
            with heard_by(lambda progress, heard=heard: heard.append(progress.stage)):
                few = {**NEVER, **arguments, "seeds": 1} | ({"epochs": 1} if "epochs" in arguments else {})
                session.audit(audit, **few).to_arrow()
            assert learner.split()[0] in heard


@pytest.mark.cases(1)
@pytest.mark.parametrize("learner", LEARNERS)
def test_at_the_time_limit(begin, learner):
    for limit in LIMITS:
        terminal = begin(learner, limit)
        assert terminal.end(limit + 500) == 1, terminal.plain
        said = " ".join(terminal.plain.split())
        assert f"error[E5001]: the query was stopped after {limit} s, its time limit" in said
        if learner.split()[0] in said.partition("error[")[0]:
            return
    pytest.fail("it began to learn in no time that was given")


@pytest.mark.cases(1)
@pytest.mark.parametrize("learner", LEARNERS)
def test_at_ctrl_c(begin, learner):
    terminal = begin(learner, 0)
    terminal.until(learner.split()[0], 500)
    terminal.send("\x03")
    assert terminal.end(500) == 130, terminal.plain
    assert "Traceback" not in terminal.plain


PROGRAM = """
import sys
import counterbalance as cb
from counterbalance.engine.progress import heard_by

lake, limit = cb.connect("own.lake"), float(sys.argv[1])
told = []

def heard(progress):
    if not told:
        print(progress.stage, flush=True)
    told.append(progress)

try:
    with heard_by(heard), lake.session(timeout=limit or None) as session:
        session.audit("leakage", **{arguments}).to_arrow()
except KeyboardInterrupt:
    print("interrupted")
except cb.CounterbalanceError as error:
    print(error.code)
print(lake.sql("SELECT count(*) FROM images").fetchall())
"""


def program(limit):
    arguments = NEVER | LEARNERS["mlp"][1]
    return [sys.executable, "-c", PROGRAM.replace("{arguments}", repr(arguments)), str(limit)]


def test_at_the_time_limit_in_python(folder):
    for limit in LIMITS:
        done = subprocess.run(program(limit), cwd=folder, capture_output=True, text=True, timeout=1000, check=False)
        assert done.stdout.splitlines()[-2:] == ["E5001", f"[({IMAGES},)]"], done.stderr
        if done.stdout.startswith("mlp\n"):
            return
    pytest.fail("it began to learn in no time that was given")


def test_at_ctrl_c_in_python(folder):
    process = subprocess.Popen(
        program(0), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout.readline() == "mlp\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=500)
    finally:
        process.kill()
    assert (out.splitlines(), process.returncode) == (["interrupted", f"[({IMAGES},)]"], 0), err
