"""OpenAPI's description has every address of the API and no other, and answers are what it says."""

from __future__ import annotations

import re

import jsonschema
import pytest
from openapi_spec_validator import validate

from counterbalance.ui.app import ROUTES

LAKE = "/api/lakes/demo"
GIVEN = {"{lake}": "demo", "{name}": "sentiment", "{image_id}": "1"}
IN_JSON = "application/json"
APART = {
    "/api/openapi.json",
    "/api/purpose",
    "/api/lakes/{lake}/images/{image_id}/picture",
    "/api/lakes/{lake}/edits/{view}/{edit_id}/answer",
    "/api/lakes/{lake}/edits/{view}/{edit_id}/picture",
    "/api/lakes/{lake}/map",
}
"""Answered before any route is asked, by browsers only, of lakes with edits, or with no JSON."""


@pytest.fixture
def described(client, lake):
    """Return what the server says of itself."""
    return client(lake).get("/api/openapi.json").json()


def operations(described):
    """Return path, method and what is said of every operation."""
    methods = ("get", "post")
    return [(path, m, item[m]) for path, item in described["paths"].items() for m in methods if m in item]


def test_it_is_openapi(described):
    validate(described)


def test_every_route_is_there_and_no_other(described):
    routes = {(r.path, m.lower()) for r in ROUTES if r.path.startswith("/api/") for m in r.methods - {"HEAD"}}
    told = {(path, method) for path, method, _ in operations(described)} - {("/api/openapi.json", "get")}
    assert told == routes


def test_everything_that_is_asked_with_is_told(described):
    shared, untold = described["components"]["parameters"], []
    for path, method, operation in operations(described):
        given = [*described["paths"][path].get("parameters", ()), *operation.get("parameters", ())]
        told = {p["name"]: p for p in (shared[p["$ref"].rpartition("/")[2]] if "$ref" in p else p for p in given)}
        for body in operation.get("requestBody", {}).get("content", {}).values():
            told |= body["schema"].get("properties", {})
        untold += [(path, method, name) for name, one in told.items() if not one.get("description")]
    assert untold == []


def test_answers_are_as_described(client, lake, described):
    seen = 0
    for path, method, operation in operations(described):
        if path in APART:
            continue
        address = re.sub(r"\{\w+\}", lambda m: GIVEN[m[0]], path)
        body = operation.get("requestBody", {}).get("content", {}).get(IN_JSON, {}).get("example")
        asked = client(lake, allow_refresh=True, annotator="ann")
        answer = asked.get(address) if method == "get" else asked.post(address, json=body)
        assert answer.status_code == 200, (path, answer.text)
        told = operation["responses"]["200"]
        told = told if "$ref" not in told else described["components"]["responses"][told["$ref"].rsplit("/", 1)[1]]
        jsonschema.validate(
            answer.json(), {**told["content"][IN_JSON]["schema"], "components": described["components"]}
        )
        seen += 1
    assert seen >= 12


def test_errors_are_as_described(client, lake, described):
    told = described["components"]["responses"]["error"]["content"][IN_JSON]["schema"]
    for answer in (
        client(lake).get("/api/lakes/none/tables"),
        client(lake).post(f"{LAKE}/query", json={"sql": "SELEC"}),
    ):
        assert answer.status_code >= 400
        jsonschema.validate(answer.json(), told)
