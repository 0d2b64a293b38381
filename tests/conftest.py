"""What many tests share: small lakes, builders of base-table rows, the real data, a local object store."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import chromium  # of tests/helpers, which pyproject.toml puts in the path
import hypothesis
import interval_oracles  # of tests/helpers, too
import pyarrow as pa
import pytest
import shares  # of tests/helpers, too
import tiny_models  # of tests/helpers, too

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.catalog import definitions, meta
from counterbalance.engine.executors.protocol import Job, Task
from counterbalance.engine.executors.spool import Spool
from counterbalance.engine.functions import Partial
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.isolation import process as workers
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import queries
from counterbalance.engine.store import columns, lock, pins, tables
from counterbalance.engine.store.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

ROOT = Path(__file__).resolve().parents[1]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that was started in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["YOLO_AUTOINSTALL"] = (
    "false"  # ultralytics, which tests call as a peer, installs packages by itself otherwise
)
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(
    prefix="counterbalance-state-"
)  # folders of pictures are remembered there
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
hypothesis.settings.register_profile(
    "ours", max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "10")), deadline=None
)
hypothesis.settings.load_profile("ours")
_names = itertools.count()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A Spark on two cores of this machine, for tiny tables: compiling and planning stages anew would cost more than running them."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java, and there is none: install a JRE, such as openjdk-17-jre-headless")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install counterbalance[spark]")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("counterbalance")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data: ``COUNTERBALANCE_DATA``, or ``../shared/data`` beside the project; skips without it."""
    given = os.environ.get("COUNTERBALANCE_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("COUNTERBALANCE_REQUIRE_DATA"):
            pytest.fail(f"no real data at {folder}, and COUNTERBALANCE_REQUIRE_DATA is set")
        pytest.skip(f"no real data at {folder}; set COUNTERBALANCE_DATA to a folder that has it")
    return folder


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where the real data must be there (``COUNTERBALANCE_REQUIRE_DATA``), a test that was skipped for want of it is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("COUNTERBALANCE_REQUIRE_DATA"):
        return
    missed = [r for r in reporter.stats.get("skipped", []) if "no real data" in str(r.longrepr)]
    if missed:
        reporter.write_line(f"{len(missed)} tests were skipped for want of real data, which is required here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What a test said that failed at first, where it was tried again (``--reruns``): it is not forgotten."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"failed at first: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[chromium.Browser]:
    """A headless Chromium; skips where there is none, or fails where there must be one (``COUNTERBALANCE_REQUIRE_BROWSER``)."""
    if chromium.PROGRAM is None:
        if os.environ.get("COUNTERBALANCE_REQUIRE_BROWSER"):
            pytest.fail("no Chromium here, and COUNTERBALANCE_REQUIRE_BROWSER is set")
        pytest.skip("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory(dir=tmp_path, ignore_cleanup_errors=True) as folder:
        found = chromium.Browser(Path(folder))
        yield found
        found.close()


_SLOW_PARTS = {
    "spawn",
    "spawn_cli",
    "without_network",
    "s3_endpoint",
    "ray_cluster",
    "data_dir",
    "row_function",
    "tmp_path",
    "open_folder",
}


gc.disable()  # while 10,000 tests are collected; it would find nothing


def pytest_collection_finish() -> None:
    """Leave what was collected and imported out of every later search for garbage, which takes half a second otherwise."""
    gc.enable()
    gc.collect()
    gc.freeze()


_LONG: Final = (
    "test_readme_commands",
    "test_tutorial_commands",
    "test_audits_run_on_spark",
    "test_statements_on_spark_answer_as_on_duckdb",
    "test_executor_ray",
    "test_executors_agree",
    "test_ray_nodes",
    "test_recipe_laion400m",
    "test_demo_recovers",
    "test_closed_tables_on_an_object_store",
)
"""Files that take minutes: they come first, or a worker would end with one of them while the other has nothing to do."""


def pytest_report_header() -> str | None:
    """Say which share of the long tests is tried, where not all are."""
    share = os.environ.get("COUNTERBALANCE_SHARE")
    return share and f"of the tests in tests/long.txt share {share} is tried (COUNTERBALANCE_SHARE)"


@pytest.hookimpl(tryfirst=True)  # in the order of the files still
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first, and mark as ``fast`` what needs no process, object store, real data, model, disk or example.

    Of a test with the mark ``cases(n)`` the parameters after the first ``n`` are ``thorough``. With ``COUNTERBALANCE_SHARE`` only
    that share of the long tests is tried.
    """
    share = os.environ.get("COUNTERBALANCE_SHARE")
    config.hook.pytest_deselected(items=[item for item in items if not shares.is_tried(item.nodeid, share)])
    items[:] = [item for item in items if shares.is_tried(item.nodeid, share)]
    items.sort(key=lambda item: item.path.stem not in _LONG)
    tried: Counter[str] = Counter()
    for item in items:
        kept = item.get_closest_marker("cases")
        if kept is not None and item.get_closest_marker("thorough") is None:
            test = item.nodeid.partition("[")[0]
            tried[test] += 1
            if tried[test] > kept.args[0]:
                item.add_marker("thorough")
        parts = set(getattr(item, "fixturenames", ()))
        if not (
            parts & _SLOW_PARTS
            or any(part.startswith("tiny_") for part in parts)
            or item.get_closest_marker("slow")
            or item.get_closest_marker("thorough")
            or getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        ):
            item.add_marker("fast")


def _rows(table: str, columns: Mapping[str, Sequence[Any] | pa.Array]) -> pa.Table:
    schema = BASE_TABLES[table].schema(blobs=True)
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


def _source(parts: Iterable[Mapping[str, pa.Table]], uri: str = "test:source") -> Source:
    chunks = (Chunk(part, rows_read=sum(map(len, part.values())), source=uri) for part in parts)
    return Source(uri, chunks)


@pytest.fixture(scope="session")
def build() -> SimpleNamespace:
    """Builders: ``images(image_id=[…], key=[…])`` and so on give rows of a base table; ``source(parts)`` a source."""

    def builder(table: str) -> Callable[..., pa.Table]:
        return lambda **columns: _rows(table, columns)

    return SimpleNamespace(**{name: builder(name) for name in BASE_TABLES}, source=_source)


@pytest.fixture(scope="session")
def ratio_interval() -> Callable[[float, float, float, float], tuple[float, float]]:
    """The 95 % interval of both * n / (one * other) by its definition: three shares, each moved to its end by Wilson."""
    return interval_oracles.ratio_interval


@pytest.fixture(scope="session")
def effect_ends() -> Callable[[Sequence[float], Sequence[float]], tuple[float, float]]:
    """The 95 % interval of the difference of two means over the std of all values, from the values themselves."""
    return interval_oracles.effect_ends


@pytest.fixture(scope="session", autouse=True)
def _no_query_ends_this_process() -> Iterator[None]:
    """A command ends its process where a query does not stop in time; here that is an error of its test, however busy it is."""
    from counterbalance.shell import supervise

    def refuse(reason: BaseException | None) -> None:
        raise RuntimeError(f"this would have ended the process that runs the tests: {reason}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervise, "end", refuse)
        yield


@pytest.fixture(scope="session", autouse=True)
def _workers_outlive_a_test() -> Iterator[None]:
    """Lend a worker again in the next test: pytest's note of where it is in the environment makes no other environment."""

    def around() -> tuple[object, ...]:
        names, *rest = before()
        return {name: value for name, value in names.items() if name != "PYTEST_CURRENT_TEST"}, *rest

    before: Any = workers._around
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_around", around)
        yield


@pytest.fixture(scope="module", autouse=True)
def _models_use_one_thread() -> None:
    """Models as small as those of tests are slower with more, and the runner's processes have the cores."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def _memory_is_given_back(_one_image: Lake) -> Iterator[None]:
    """Lakes in memory go with the module that made them: Lance's buffers for their files are large, and stay otherwise.

    The lake that all modules share is there before.
    """
    before = set(lock._memory_locks)
    yield
    for key in set(lock._memory_locks) - before:
        root, _, name = key.rpartition("/")
        if name == lock.NAME:
            location = Location(root.replace("shared-memory://", "memory://"))
            for table in {*_stored(), *definitions.load(location).views()}:
                if tables.open_table(location, table) is not None:
                    tables.drop(location, table)


@pytest.fixture(scope="session")
def _one_image(build: SimpleNamespace) -> Lake:
    found = cb.connect(f"memory://one-image-{os.getpid()}")
    found.ingest({"images": build.images(image_id=[1])})
    return found


@pytest.fixture(scope="module")
def session(_one_image: Lake) -> Iterator[Session]:
    """A session over a lake of one image, for queries over rows that are bound to it."""
    with _one_image.session() as opened:
        yield opened


@pytest.fixture
def empty_lake() -> Lake:
    """A lake in memory that nothing was written to."""
    return cb.connect(f"memory://test-{os.getpid()}-{next(_names)}")


def _fill(found: Lake, build: SimpleNamespace) -> None:
    found.ingest(
        {
            "images": build.images(
                image_id=[1, 2, 3, 4, 5, 6],
                key=["one", "two", "three", "four", "five", "six"],
                split=["train", "train", "val", "val", None, "train"],
                width=[640, 320, 200, 640, None, 100],
                height=[480, 240, 200, 480, None, 900],
                license=["CC BY", None, "CC BY", "CC0", "CC0", None],
            ),
            "captions": build.captions(
                caption_id=[11, 12, 13, 14, 15, 16, 17, 18],
                image_id=[1, 1, 2, 3, 4, 5, 6, 6],
                text=[
                    "a man rides a horse",
                    "a rider on a brown horse",
                    "a woman reads a book",
                    "two dogs on the grass",
                    "a man and a woman at a table",
                    "",
                    None,
                    "un café près de la gare",
                ],
                origin=["human", "human", "human", "alt_text", "human", "alt_text", "generated", "alt_text"],
                similarity=[0.5, 0.25, None, 0.75, 0.5, float("nan"), 1.0, 0.0],
            ),
            "detections": build.detections(
                detection_id=[21, 22, 23, 24],
                image_id=[1, 1, 2, 4],
                category=["person", "horse", "person", "person"],
                score=[0.9, 0.8, None, 0.4],
                x=[0.0, 10.0, 5.0, 1.0],
                y=[0.0, 20.0, 5.0, 1.0],
                width=[50.0, 100.0, 40.0, 9.0],
                height=[90.0, 80.0, 60.0, 9.0],
                is_crowd=[False, False, True, None],
                keypoints=[[1.0, 2.0, 2.0], None, [], [0.0, 0.0, 0.0]],
            ),
            "labels": build.labels(
                label_id=[31, 32, 33, 34, 35],
                image_id=[1, 2, 3, 4, 4],
                attribute=["scene", "scene", "scene", "scene", "weather"],
                value=["outdoor", "indoor", "outdoor", "indoor", "rain"],
                annotator=["ann", "ann", "bob", "bob", "bob"],
            ),
        }
    )


def _stored() -> list[str]:
    """Tables of a lake in memory, which has no folders to look at."""
    return [
        *BASE_TABLES,
        *(f"meta/{name}" for name in (*meta.SCHEMAS, "access_ends")),
        *(meta.stored(name, closed=True) for name in meta.CLOSED_PARTS),
        "sensitive/labels",
        "sensitive/access",
    ]


def _state(found: Lake) -> tuple[Any, ...]:
    """What differs once anything was done to a lake but read it."""
    system, path = found.location.files()
    files = system.find(path) if system.exists(path) else []
    return (
        [tables.latest_version(found.location, t) for t in _stored()],
        files,
        pins._memory.get(found.location.root) or {},
    )


@pytest.fixture
def lake(_spare: list[tuple[Lake, Any]], build: SimpleNamespace) -> Iterator[Lake]:
    """A lake in memory: 6 images, 8 captions, 4 boxes, 5 open labels. Tests of a module that only read share one."""
    if not _spare:
        made = cb.connect(f"memory://test-{os.getpid()}-{next(_names)}")
        _fill(made, build)
        _spare.append((made, _state(made)))
    found, state = _spare.pop()
    yield cb.connect(found.uri)
    if _state(found) == state:
        _spare.append((found, state))


@pytest.fixture(scope="module")
def _spare() -> list[tuple[Lake, Any]]:
    return []


@pytest.fixture
def disk_lake(tmp_path: Path) -> Lake:
    """A lake in a folder that nothing was written to."""
    return cb.connect(tmp_path / "test.lake")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``copies.filled`` keeps the lake of a module."""
    return tmp_path_factory.mktemp("kept") / "kept.lake"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "error,ignore:.*lance is not fork-safe.*:UserWarning"}


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start ``tests/programs/NAME.py`` with arguments in a process of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "programs" / f"{name}.py"), *map(str, arguments)],
            cwd=tmp_path,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def spawn_cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line with these words in a process of its own, to its end."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "counterbalance", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, env=_environment(), capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture(scope="session")
def without_network() -> list[str]:
    """Words before a command that has it killed once it, or what it starts, goes to the network; none where the kernel cannot."""
    words = [sys.executable, str(ROOT / "tests" / "programs" / "without_network.py")]
    return words if subprocess.run([*words, "true"], check=False).returncode == 0 else []


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A local S3-compatible server; skips where moto is not installed."""
    server_module = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def _files_of_ones_own_are_forgotten() -> Iterator[None]:
    """Files with queries that a test adds are known in no other one."""
    yield
    if queries.added() or queries.broken():
        queries.queries.cache_clear()
        queries.sql_functions.cache_clear()


@pytest.fixture(autouse=True)
def _object_stores_ask_this_tests_environment() -> None:
    """Forget the file systems of earlier tests: fsspec keeps one for its arguments, with the credentials of its first day."""
    s3fs: Any = sys.modules.get("s3fs")
    if s3fs is not None:
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def s3_lake(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake in a fresh bucket of the local object store, found through the usual ``AWS_*`` variables."""
    import s3fs

    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3_endpoint,
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{os.getpid()}-{next(_names)}"
    s3fs.S3FileSystem(endpoint_url=s3_endpoint, skip_instance_cache=True).mkdir(bucket)
    return cb.connect(f"s3://{bucket}/coco.lake")


class Jobs:
    """Columns to compute without a refresh: a table of captions, a job and its tasks, and what lies in the spool."""

    udfs = str(ROOT / "tests" / "programs" / "executor_udfs.py")

    def captions(self, lake: Lake, build: SimpleNamespace, texts: Sequence[str | None], parts: int = 1) -> None:
        """One caption a text, in so many fragments; ``caption_id`` from 0."""
        ids = list(range(len(texts)))
        size = -(-len(ids) // parts)
        for part in (ids[i : i + size] for i in range(0, len(ids), size)):
            rows = build.captions(caption_id=part, image_id=[1] * len(part), text=[texts[i] for i in part])
            lake.ingest({"images": build.images(image_id=[1], key=["one"]), "captions": rows})

    def job(self, lake: Lake, sql: str, table: str = "captions", key: str = "caption_id", **more: Any) -> Job:
        """A column ``c`` of a table, declared and empty."""
        dataset = tables.open_table(lake.location, table)
        if "c__v" not in dataset.schema.names:
            columns.declare(lake.location, table, [pa.field("c", pa.float64()), pa.field("c__v", pa.int64())])
            dataset = tables.open_table(lake.location, table)
        plain = Job(
            uri=lake.uri, storage_options={}, table=table, version=dataset.version, sql=sql, type=None, key=(key,),
            stamps=(), stale="c__v IS NULL", spool=f"refresh/{table}.c/f00-{next(_names)}", batch_size=None, device="cpu",
            udfs=(self.udfs,),
        )  # fmt: skip
        return replace(plain, **more)

    def tasks(self, lake: Lake, job: Job, rows: int = 1_000_000) -> list[Task]:
        """Tasks of so many rows at most."""
        found: list[Task] = []
        for fragment in tables.open_table(lake.location, job.table, job.version).get_fragments():
            ids = fragment.scanner(columns=[], with_row_id=True).to_table()["_rowid"].to_pylist()
            for at in range(0, len(ids), rows):
                part = sorted(ids)[at : at + rows]
                found.append(Task(len(found), fragment.fragment_id, part[0], part[-1]))
        return found

    def spooled(self, lake: Lake, job: Job) -> pa.Table:
        """All rows of the spool, by row id."""
        spool = Spool(lake.location, job.spool)
        batches = [b for f in spool.files() for b in spool.read(f)]
        return pa.Table.from_batches(batches).combine_chunks().sort_by("row_id")


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    """See ``Jobs``; the functions of ``programs/executor_udfs.py`` are known inside."""
    before, modules = dict(functions.functions()), set(sys.modules)
    functions.load_file(Jobs.udfs)
    yield Jobs()
    functions._registry.clear()
    functions._registry.update(before)
    for name in set(sys.modules) - modules:
        if name.startswith("counterbalance_udfs_"):
            del sys.modules[name]


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A local Ray cluster of two workers that this process is connected to; skips where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    from counterbalance.engine.executors.ray import cluster

    with cluster(workers=2):
        yield


class RowFunction:
    """A function of a test, declared from plain Python of one row; remembers the arguments of every row it was given.

    What raises in a row fails that row alone, unless ``partial`` is false: then the whole call fails.
    """

    def __init__(self, name: str, of: Callable[..., Any], **options: Any) -> None:
        self.name, self.of, self.partial = name, of, options.pop("partial", True)
        self.returns = options.pop("returns", pa.int64())
        self.options: dict[str, Any] = {"parameters": {"text": pa.string()}, "version": "1", **options}
        self.seen: list[Any] = []
        self.declare()

    def declare(self, **changes: Any) -> None:
        """Declare it (again), with other options."""
        self.options |= changes

        def call(**arrays: pa.Array) -> pa.Array | Partial:
            rows = list(zip(*(a.to_pylist() for a in arrays.values()), strict=True))
            self.seen += [r[0] if len(r) == 1 else r for r in rows]
            values, errors = [], {}
            for number, row in enumerate(rows):
                try:
                    values.append(self.of(*row))
                except Exception as error:  # whatever the test raises
                    if not self.partial:
                        raise
                    values.append(None)
                    errors[number] = f"{type(error).__name__}: {error}"
            found = pa.array(values, self.returns)
            return Partial(found, errors) if errors else found

        call.__name__, call.__module__ = self.name, __name__
        cb.udf(returns=self.returns, name=self.name, **self.options)(call)

    def taken(self) -> list[Any]:
        """What it was given since the last time this was asked."""
        seen, self.seen = self.seen, []
        return seen


@pytest.fixture
def row_function() -> Iterator[Callable[..., RowFunction]]:
    """Declare a function for one test: ``row_function("half", lambda text: len(text) / 2, returns=pa.float64())``."""
    from counterbalance.engine import functions

    made: list[str] = []

    def make(name: str, of: Callable[..., Any], **options: Any) -> RowFunction:
        made.append(name)
        return RowFunction(name, of, **options)

    yield make
    for name in made:
        functions._registry.pop(name, None)


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a folder with a CLIP model of 16 dimensions, 32 x 32 pixels and 16 tokens, weights by seed; skips without open_clip."""
    pytest.importorskip("torch")
    pytest.importorskip("open_clip")

    def make(seed: int = 0, preprocess: Mapping[str, Any] | None = None, **vision: Any) -> Path:
        return tiny_models.save_clip(tmp_path_factory.mktemp("clip"), seed, preprocess, **vision)

    return make


@pytest.fixture(scope="session")
def tiny_diffusion(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a checkpoint of a class of diffusers, weights by seed: ``tiny_diffusion("StableDiffusionPipeline", channels=4)``.

    ``flags`` adds a safety checker that flags every picture, or none. Skips without diffusers.
    """
    pytest.importorskip("torch")
    pytest.importorskip("diffusers")
    import pipelines

    def make(kind: str, channels: int = 4, seed: int = 0, flags: bool | None = None) -> Path:
        return pipelines.save(tmp_path_factory.mktemp("diffusion"), kind, channels, seed, flags)

    return make


@pytest.fixture(scope="session")
def tiny_safety(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny image classifier, normal or nsfw, with random weights that differ from picture to picture."""
    return tiny_models.save_safety(tmp_path_factory.mktemp("nsfw"))


@pytest.fixture(scope="session")
def tiny_detector(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a YOLO with random weights that sees many things."""
    file = tmp_path_factory.mktemp("yolo") / "yolo.pt"
    tiny_models.save_detector(file, spread=0.1, bias=-3, width=0.0625)
    return str(file)


@pytest.fixture(scope="session")
def tiny_people_detector(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a YOLO with random weights that takes many things for people."""
    file = tmp_path_factory.mktemp("yolo") / "people.pt"
    tiny_models.save_detector(file, spread=0.02, bias=-9, people=-1)
    return str(file)


@pytest.fixture(scope="session")
def tiny_asker() -> Callable[[Path], Path]:
    """Save a tiny multimodal model into a folder: ``ask`` gets from it the option that stands first for a picture."""
    return tiny_models.save_asker


@pytest.fixture(scope="session")
def spill_of():
    """Tells where the queries of a session spill."""

    def told(session):
        return Path(session._engine.backend._opened().spill)

    return told


@pytest.fixture
def bucket(s3_endpoint: str, s3_lake: Any) -> Iterator[None]:
    """An empty one that is called ``bucket``, beside that of a lake whose credentials are used; gone after the test."""
    import s3fs

    store = s3fs.S3FileSystem(endpoint_url=s3_endpoint, skip_instance_cache=True)
    store.mkdir("bucket")
    yield
    store.invalidate_cache()
    store.rm("bucket", recursive=True)
