"""propose_attributes: three questions to an OpenAI-compatible endpoint (a stub over HTTP), or a file that is there."""

from __future__ import annotations

import csv
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from counterbalance.engine.errors import FunctionError, RequestError
from counterbalance.engine.recipes import actions
from counterbalance.udfs.endpoint import KEY, Endpoint
from counterbalance.udfs.proposals import Category, read

SECRET = "sk-very-secret-0123456789"
CAPTION = 'a photo of a "room"'
CATEGORIES = [
    ["Lighting", "furniture", "style"],
    ["furniture", "lighting", "season"],
    ["lighting", "style", "furniture."],
]
ATTRIBUTES = {
    "lighting": [["bright", "dim"], ["Dim", "bright"], ["dark", "bright"]],
    "furniture": [["sofa", "coffee_table"]] * 3,
    "style": [["modern"], ["rustic"], ["unknown", "baroque"]],
}
LEVELS = {"lighting": ["image"] * 3, "furniture": ["object", "image", "object"], "style": ["object", "image", "image"]}


def sensible(question, turn):
    """What a good model would say the given time that it is asked a question."""
    if '"categories"' in question:
        return json.dumps({"categories": CATEGORIES[turn]})
    category = next(c for c in LEVELS if f'"{c}"' in question)
    if '"attributes"' in question:
        return json.dumps({"attributes": ATTRIBUTES[category][turn]})
    return json.dumps({"level": LEVELS[category][turn]})


class Stub(ThreadingHTTPServer):
    """An endpoint: replies by ``say(question, turn)``, after the faults it was given."""

    daemon_threads = True

    def __init__(self, say=sensible, faults=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.say, self.faults, self.seen, self.turns, self.turn = say, list(faults), [], {}, threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        stub = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with stub.turn:
            stub.seen.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
            fault = stub.faults.pop(0) if stub.faults else None
            if fault is not None:
                self.fault(*fault)
                return
            question = body["messages"][-1]["content"]
            turn = stub.turns[question] = stub.turns.get(question, -1) + 1
        self.answer(json.dumps({"choices": [{"message": {"role": "assistant", "content": stub.say(question, turn)}}]}))

    def fault(self, status, text, headers=()):
        if status is None:  # hangs up
            self.close_connection = True
            return
        self.answer(text, status, headers)

    def answer(self, text, status=200, headers=()):
        data = text.encode()
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(data)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """``serve(say, faults)``: a running stub."""
    running = []

    def start(*args, **options):
        stub = Stub(*args, **options)
        thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((stub, thread))
        return stub

    yield start
    for stub, thread in running:
        stub.shutdown()
        thread.join()
        stub.server_close()


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def propose(stub, output, **options):
    given = {"caption": CAPTION, "model": "tiny", "categories": 2, "attributes": 2, "generations": 3} | options
    arguments = {**given, "output": str(output), "endpoint": stub.url}
    return actions.run(None, actions.Call("propose_attributes", arguments))


def test_most_replies_decide_and_ties_do_not_depend_on_chance(serve, tmp_path):
    stub, output = serve(), tmp_path / "new" / "rooms.csv"
    told = propose(stub, output, categories=3)
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert [tuple(r.values()) for r in rows] == [
        ("bright", "lighting", "image", "3", "3"),
        ("dim", "lighting", "image", "2", "3"),
        ("sofa", "furniture", "object", "3", "3"),
        ("coffee table", "furniture", "object", "3", "3"),
        ("baroque", "style", "image", "1", "2"),  # of three with a vote each the first by name
        ("modern", "style", "image", "1", "2"),
    ]
    assert "6 attributes of 3 categories, from 21 replies" in told
    assert read(output)[1] == Category("furniture", "object", ("sofa", "coffee table"), (None, None))
    assert len({s["seed"] for s in stub.seen if '"categories"' in s["messages"][0]["content"]}) == 3
    assert {(s["path"], s["model"], s["temperature"]) for s in stub.seen} == {("/v1/chat/completions", "tiny", 0.1)}


def test_nothing_is_asked_twice(serve, tmp_path):
    stub, output = serve(), tmp_path / "rooms.csv"
    propose(stub, output)
    before, asked = output.read_bytes(), len(stub.seen)
    assert "proposed already" in propose(stub, output)
    with pytest.raises(RequestError, match="other settings") as caught:
        propose(stub, output, seed=1)
    assert caught.value.code == "E3559"
    output.write_text(output.read_text().replace("dim", "gloomy"))
    assert "changed since" in propose(stub, output, seed=1)
    assert len(stub.seen) == asked
    output.unlink()
    propose(serve(), output)
    assert output.read_bytes() == before


def test_the_record_holds_all_replies_and_no_key(serve, tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    stub, output = serve(), tmp_path / "rooms.csv"
    propose(stub, output)
    assert {s["key"] for s in stub.seen} == {f"Bearer {SECRET}"}
    record = json.loads((tmp_path / "rooms.record.json").read_text())
    assert [(r["question"], r["used"]) for r in record["replies"]] == [
        (s["messages"][0]["content"], True) for s in stub.seen
    ]
    assert record["settings"]["endpoint"] == stub.url
    assert record["settings"]["caption"] == CAPTION
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rooms.csv", "rooms.record.json"]
    assert not any(SECRET in p.read_text() for p in tmp_path.iterdir())


@pytest.mark.parametrize(
    "reply",
    [
        "Sure! Here are some: lighting, style",
        '{"categories": ["lighting"]} I hope this helps',
        '{"categories": "lighting"}',
        '{"categories": [1, 2]}',
        '{"categories": []}',
        '{"categories": ["lighting"], "more": 1}',
        '{"categories": ["lighting"], "categories": ["style"]}',
        '["lighting"]',
        "[" * 5000,
        "",
    ],
)
def test_what_is_no_json_of_the_form_is_asked_for_again(serve, tmp_path, reply):
    said = iter([reply, '```json\n{"categories": ["lighting"]}\n```'])
    good = lambda question, turn: next(said) if '"categories"' in question else sensible(question, turn)  # noqa: E731
    propose(serve(good), tmp_path / "a.csv", generations=1)
    record = json.loads((tmp_path / "a.record.json").read_text())
    assert (record["replies"][0]["reply"], record["replies"][0]["used"]) == (reply, False)
    with pytest.raises(FunctionError, match="2 replies to a question for categories") as caught:
        propose(serve(lambda *_: reply), tmp_path / "b.csv", attempts=2)
    assert caught.value.code == "E8320"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "a.record.json"]


def test_faults_that_pass_are_tried_again(serve):
    faults = [(429, "slow down", [("Retry-After", "0")]), (None, ""), (503, "busy"), (500, "oops")]
    stub = serve(lambda *_: "yes", faults)
    assert Endpoint(stub.url, "tiny", pause=0.01).ask("Well?", 7) == "yes"
    assert [s["seed"] for s in stub.seen] == [7] * 5


@pytest.mark.parametrize(
    ("faults", "code", "words"),
    [
        ([(500, "oops")] * 3, "E8322", "answers 500 .*tried 3 times: oops"),
        ([(401, f"wrong key {SECRET}")], "E8322", "answers 401 .*tried 1 times: wrong key …"),
        ([(302, "", [("Location", "http://127.0.0.1:9/")])], "E8322", "answers 302"),
        ([(None, "")] * 3, "E8321", "cannot be reached, tried 3 times"),
        ([(200, "<html>")], "E8323", "something else"),
        ([(200, '{"choices": []}')], "E8323", "something else"),
    ],
)
def test_faults_that_stay_are_told_without_the_key(serve, monkeypatch, faults, code, words):
    monkeypatch.setenv(KEY, SECRET)
    stub = serve(faults=faults)
    with pytest.raises(FunctionError, match=words) as caught:
        Endpoint(stub.url, "tiny", attempts=3, pause=0.01).ask("Well?", 0)
    assert caught.value.code == code
    assert SECRET not in str(caught.value)
    assert len(stub.seen) == len(faults)


def test_a_server_that_says_nothing_is_given_up():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(FunctionError, match="cannot be reached, tried 2 times: timed out"):
            Endpoint(url, "tiny", timeout=0.05, attempts=2, pause=0.01).ask("Well?", 0)


def test_the_key_does_not_go_over_the_network_in_the_clear(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    for url in ("https://example.org/v1", "http://localhost:8000/v1", "http://[::1]:8000"):
        Endpoint(url, "tiny")
    with pytest.raises(RequestError) as caught:
        Endpoint("http://example.org/v1", "tiny")
    assert caught.value.code == "E3722"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org", "https://", "http://[bad", "http://a:99999999/"])
def test_addresses_that_are_none(url):
    with pytest.raises(RequestError) as caught:
        Endpoint(url, "tiny")
    assert caught.value.code == "E3721"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.csv", "term,class,level,caption\nfog,weather,,a foggy road\nsun,weather,image,\ncar,things,object,\n"),
        (
            "own.jsonl",
            '{"term": "fog", "class": "weather", "caption": "a foggy road"}\n{"term": "sun", "class": "weather"}\n'
            '{"term": "car", "class": "things", "level": "object"}\n',
        ),
    ],
)
def test_a_table_of_ones_own_is_left_as_it_is(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    given = {"caption": CAPTION, "output": str(file)}
    assert "3 attributes of 2 categories, your own" in actions.run(None, actions.Call("propose_attributes", given))
    assert file.read_text() == text
    assert read(file) == [
        Category("weather", "image", ("fog", "sun"), ("a foggy road", None)),
        Category("things", "object", ("car",), (None,)),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("term\nfog\n", "no column 'class'"),
        ("term,class\nfog,\n", "row 1: no category"),
        ("term,class,level\nfog,weather,pixel\n", "row 1: level 'pixel'; it is one of image, object"),
        ("term,class,level\nfog,weather,image\nsun,weather,object\n", "row 2: 'weather' has several levels"),
        (
            "term,class,level\nfog,weather,image\nfog,weather,object\n",
            "row 2: 'fog' is an attribute of 'weather' twice",
        ),
        ("term,class\nunknown,weather\n", "row 1: 'unknown' stands for"),
        ("term,class\n", "no rows"),
    ],
)
def test_tables_that_are_none(tmp_path, text, words):
    file = tmp_path / "own.csv"
    file.write_text(text)
    with pytest.raises(RequestError, match=words) as caught:
        read(file)
    assert caught.value.code == "E3720"


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({}, "E3724", "no model to propose one"),
        ({"model": "tiny", "output": "a.jsonl"}, "E3724", "to a .csv file only"),
        ({"model": "tiny", "categories": 0}, "E3051", "categories of"),
        ({"model": "tiny", "caption": " "}, "E3051", "caption of"),
        ({"model": "tiny", "temperature": float("nan")}, "E3051", "temperature of"),
    ],
)
def test_requests_that_make_no_sense(tmp_path, given, code, words):
    arguments = {"caption": CAPTION, **given, "output": str(tmp_path / given.get("output", "a.csv"))}
    with pytest.raises(RequestError, match=words) as caught:
        actions.run(None, actions.Call("propose_attributes", arguments))
    assert caught.value.code == code
    assert not any(tmp_path.iterdir())


def test_a_recipe_calls_it(serve, tmp_path, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    stub, file = serve(), tmp_path / "rooms.csv"
    given = {"caption": CAPTION, "attributes": str(file), "proposer": "tiny", "endpoint": stub.url}
    more = {"categories": 2, "labels": 2, "generations": 3}
    done = empty_lake.recipe("gelda", given | more, until="propose")
    assert "4 attributes of 2 categories" in done.steps[-1].message
