"""The OpenAPI document: what is committed is what is served, and what is served is what it says."""

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from tests.golden import check
from tests.server.records import make_record

from adanalytics_server.api.openapi import document_text
from adanalytics_server.api.routes import OPERATIONS
from adanalytics_server.app import create_app
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.settings import Settings
from adanalytics_server.storage.dimensions import GROUPINGS
from adanalytics_server.storage.events import Record

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
API = "/api/partners/acme/ad-analytics"
JSON = {"Content-Type": "application/json"}
START = 1_769_896_800_000
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}
ORDER = {**RANGE, "format": "csv"}
RATES = {
    "fill_rate", "ctr", "vcr", "completion_rate_started", "error_rate", "margin",
    "ecpm", "rpm", "cpm_cost",
}  # fmt: skip
# Of any HTTP message; OpenAPI has a place of its own for the type of a body.
TRANSPORT = {"connection", "content-length", "content-type", "date"}


@pytest.fixture(scope="session")
def document() -> Any:
    return json.loads(COMMITTED.read_text())


def closed(components: Any) -> Any:
    """The same schemas, which refuse what they do not list."""
    schemas = {
        name: {**schema, "additionalProperties": False}
        for name, schema in components["schemas"].items()
    }
    return {**components, "schemas": schemas}


class Checked:
    """A client that compares each answer with what the document says of its operation."""

    def __init__(self, http: httpx.Client, document: Any) -> None:
        self.seen: set[tuple[str, int]] = set()
        self._http = http
        self._document = document

    def __call__(self, operation_id: str, method: str, path: str, **request: Any) -> httpx.Response:
        answer = self._http.request(method, path, **request)
        documented = self._resolve(self._responses(operation_id)[str(answer.status_code)])
        self._check_headers(answer, documented.get("headers", {}))
        content = documented.get("content", {})
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if content or answer.content:
            assert media_type in content
        if media_type == "application/json":
            self._check_body(answer.json(), content[media_type]["schema"])
        self.seen.add((operation_id, answer.status_code))
        return answer

    def _responses(self, operation_id: str) -> Any:
        operations = [each for path in self._document["paths"].values() for each in path.values()]
        (found,) = [each for each in operations if each["operationId"] == operation_id]
        return found["responses"]

    def _resolve(self, documented: Any) -> Any:
        if "$ref" not in documented:
            return documented
        place = self._document
        for name in documented["$ref"].removeprefix("#/").split("/"):
            place = place[name]
        return place

    def _check_headers(self, answer: httpx.Response, documented: Any) -> None:
        names = {name.lower() for name in documented}
        assert set(answer.headers) - TRANSPORT <= names
        for name, header in ((name, self._resolve(each)) for name, each in documented.items()):
            if name in answer.headers:
                jsonschema_rs.validate(header["schema"], answer.headers[name])
            else:
                assert not header["required"], f"{name} is missing"

    def _check_body(self, body: Any, schema: Any) -> None:
        # With the components beside it, so that its references lead somewhere.
        components = closed(self._document["components"])
        jsonschema_rs.validate({**schema, "components": components}, body)


@pytest.fixture
def checked(http: httpx.Client, document: Any) -> Checked:
    return Checked(http, document)


def test_the_committed_document_is_the_one_that_is_served(http: httpx.Client) -> None:
    text = document_text(create_app(Settings(data=Path())))
    # Versions of FastAPI differ in the order of members.
    if json.loads(COMMITTED.read_text()) != json.loads(text):
        check(COMMITTED, text)
    assert http.get("/openapi.json").json() == json.loads(text)


def test_test_controls_are_no_part_of_it(tmp_path: Path, document: Any) -> None:
    app = create_app(Settings(data=tmp_path, test_controls=True))
    assert app.openapi() == document


def test_its_schemas_are_schemas(document: Any) -> None:
    assert document["openapi"].startswith("3.1")
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_it_lists_the_operations_of_the_api_and_nothing_else(document: Any) -> None:
    named = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert sorted(named) == sorted(OPERATIONS)
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_everything_in_it_is_described(document: Any) -> None:
    silent = []
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["tags"]
            assert operation["description"]
            silent += [
                (path, each["name"])
                for each in operation.get("parameters", [])
                if not each.get("description")
                or not (each.get("examples") or each["schema"].get("examples"))
            ]
    bodies = {
        operation["operationId"]: operation["requestBody"]["content"]["application/json"]["schema"]
        for operations in document["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    }
    assert set(bodies) == {"login", "start_export"}
    for name, schema in {**document["components"]["schemas"], **bodies}.items():
        assert schema["description"]
        silent += [
            (name, field)
            for field, each in schema["properties"].items()
            if not each.get("description")
        ]
    assert not silent
    assert document["servers"]
    tags = {tag["name"] for tag in document["tags"]}
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert {tag for each in operations for tag in each["tags"]} == tags


def test_every_rate_has_its_formula(document: Any) -> None:
    row = document["components"]["schemas"]["SummaryRow"]["properties"]
    for name in RATES:
        assert re.search(r"`\w+( \* 1000)? / \w+`", row[name]["description"]), name


def test_a_shared_header_or_error_is_written_once(document: Any) -> None:
    responses = [
        response
        for path in document["paths"].values()
        for operation in path.values()
        for response in operation["responses"].values()
    ]
    headers = [
        {"name": name, **header}
        for response in (*responses, *document["components"]["responses"].values())
        for name, header in response.get("headers", {}).items()
    ]
    whole = [json.dumps(each) for each in (*responses, *headers) if "$ref" not in each]
    assert sorted(whole) == sorted(set(whole))
    used = {each["$ref"] for each in (*responses, *headers) if "$ref" in each}
    assert used == {
        f"#/components/{kind}/{name}"
        for kind in ("headers", "responses")
        for name in document["components"][kind]
    }


def test_a_generated_client_reads_the_bytes_of_a_download(document: Any) -> None:
    responses = document["paths"]["/exports/{export_id}"]["get"]["responses"]
    for status in ("200", "206"):
        # openapi-python-client goes by the first type, and reads a text/csv as a str.
        assert next(iter(responses[status]["content"])) == "application/octet-stream"


def test_what_the_service_fixes_stands_in_it(document: Any) -> None:
    path = "/api/partners/{partner_id}/ad-analytics/events"
    events = document["paths"][path]["get"]
    parameters = {each["name"]: each for each in events["parameters"]}
    assert [name for name, each in parameters.items() if each["required"]] == [
        "partner_id",
        "start_date",
        "end_date",
    ]
    per_page = parameters["per_page"]["schema"]
    assert (per_page["default"], per_page["maximum"]) == (1000, 10_000)
    assert parameters["page"]["schema"]["default"] == 1
    assert events["security"] == [{"bearer": []}]
    assert document["paths"]["/api/auth/login"]["post"]["security"] == []
    assert document["paths"]["/exports/{export_id}"]["get"]["security"] == []
    assert document["info"]["license"]["identifier"] == "Apache-2.0"


def test_every_kind_of_answer_is_as_described(
    checked: Checked,
    server: LocalServer,
    add_records: Callable[[list[Record]], None],
    document: Any,
) -> None:
    add_records(
        [
            make_record(START, 1),
            make_record(START, 2, campaign_id=None, demand_tag_id=None, cost=None),
            make_record(START, 3, event_type="ad_request", revenue=-1),
        ]
    )
    sign_in = {"email": server.email, "password": server.password}
    checked("login", "POST", "/api/auth/login", json=sign_in)
    checked("login", "POST", "/api/auth/login", json={})
    for _ in range(6):
        checked("login", "POST", "/api/auth/login", json={**sign_in, "password": "wrong"})
    for operation_id, path in (
        ("login", "/api/auth/login"),
        ("start_export", f"{API}/bulk-export"),
    ):
        checked(operation_id, "POST", path, content=b"x" * (1 << 20) + b"x", headers=JSON)
        checked(operation_id, "POST", path, content=b"x", headers={"Content-Type": "text/plain"})
        checked(operation_id, "POST", path, json={}, headers={"Content-Encoding": "gzip"})
    events = checked("events", "GET", f"{API}/events", params=RANGE).json()["data"]
    assert len(events) == 3
    for group_by in GROUPINGS:
        checked("summary", "GET", f"{API}/summary", params={**RANGE, "group_by": group_by})
    checked("summary", "GET", f"{API}/summary", params=RANGE)
    checked("dates", "GET", f"{API}/dates")
    reads = [
        (path.rpartition("/")[2], operations["get"]["operationId"])
        for path, operations in document["paths"].items()
        if path.startswith("/api/partners/") and "get" in operations and "export" not in path
    ]
    assert len(reads) > 2
    for resource, operation_id in reads:
        checked(operation_id, "GET", f"{API}/{resource}", params={"nothing": "1"})
        other = API.replace("acme", "other")
        checked(operation_id, "GET", f"{other}/{resource}")
        checked(operation_id, "GET", f"{API}/{resource}", headers={"Authorization": ""})
    job = checked("start_export", "POST", f"{API}/bulk-export", json=ORDER).json()
    checked("start_export", "POST", f"{API}/bulk-export", json={})
    checked("export_status", "GET", job["status_url"])
    checked("export_status", "GET", f"{API}/bulk-export/none")
    assert {status for operation, status in checked.seen if operation == "login"} == {
        200, 400, 401, 413, 415, 429,
    }  # fmt: skip
    assert {status for operation, status in checked.seen if operation == "start_export"} == {
        200, 400, 413, 415,
    }  # fmt: skip


def test_a_download_is_as_described(checked: Checked, clock: Clock, document: Any) -> None:
    job = checked("start_export", "POST", f"{API}/bulk-export", json=ORDER).json()
    with httpx.Client() as nobody:
        anonymous = Checked(nobody, document)
        url = job["download_url"]
        anonymous("download", "GET", url)
        anonymous("download", "GET", url, headers={"Range": "bytes=0-9"})
        anonymous("download", "GET", url, headers={"Range": "bytes=999999-"})
        anonymous("download", "GET", url, headers={"Authorization": "Bearer x"})
        anonymous("download", "GET", url.replace("signature=", "signature=0"))
        clock.advance(seconds=86_400)
        anonymous("download", "GET", url)
    assert {status for _, status in anonymous.seen} == {200, 206, 400, 403, 416}


def test_waiting_and_being_refused_is_as_described(document: Any) -> None:
    sample = Sample(start=date(2026, 1, 31), days=1, events_per_day=24)
    with LocalServer(sample=sample, export_inline_max=0, rate_limit=3) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=server.url, headers=headers) as http:
            checked = Checked(http, document)
            job = checked("start_export", "POST", f"{API}/bulk-export", json=ORDER).json()
            for _ in range(3):
                checked("export_status", "GET", job["status_url"])
    assert checked.seen == {("start_export", 202), ("export_status", 200), ("export_status", 429)}
