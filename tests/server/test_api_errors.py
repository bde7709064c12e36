"""Bad requests: one shape, the right status, and the parameter named."""

import gzip

import httpx
import pytest

from adanalytics_server.local import LocalServer

API = "/api/partners/acme/ad-analytics"
RANGE = "start_date=2026-01-01&end_date=2026-01-02"


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("events?end_date=2026-01-02", "start_date", "is required"),
        ("events?start_date=2026-01-01", "end_date", "is required"),
        ("events?start_date=1767225600&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-1-1&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=20260101&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-01-01T00:00:00Z&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-02-30&end_date=2026-03-01", "start_date", "an existing day"),
        ("events?start_date=&end_date=2026-03-01", "start_date", "YYYY-MM-DD"),
        ("events?start_date=٢٠٢٦-01-01&end_date=2026-03-01", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-01-03&end_date=2026-01-02", "end_date", "before start_date"),
        (f"events?{RANGE}&hour=24", "hour", "less than or equal to 23"),
        (f"events?{RANGE}&hour=-1", "hour", "greater than or equal to 0"),
        (f"events?{RANGE}&hour=1.0", "hour", "whole number"),
        (f"events?{RANGE}&hour=-0", "hour", "whole number"),
        (f"events?{RANGE}&hour=", "hour", "whole number"),
        (f"events?{RANGE}&page=0", "page", "greater than or equal to 1"),
        (f"events?{RANGE}&page=-1", "page", "greater than or equal to 1"),
        (f"events?{RANGE}&page=1e3", "page", "whole number"),
        (f"events?{RANGE}&page=1_000", "page", "whole number"),
        (f"events?{RANGE}&page=9223372036854775808", "page", "less than or equal to"),
        (f"events?{RANGE}&page={'9' * 5000}", "page", "whole number"),
        (f"events?{RANGE}&per_page=10001", "per_page", "less than or equal to 10000"),
        (f"events?{RANGE}&per_page=0", "per_page", "greater than or equal to 1"),
        (f"events?{RANGE}&page=1&page=1", "page", "must not be repeated"),
        (f"events?{RANGE}&per_pgae=5", "per_pgae", "is not a parameter"),
        (f"events?{RANGE}&=5", "(no name)", "is not a parameter"),
        (f"summary?{RANGE}&group_by=os", "group_by", "'day', 'campaign' or 'demand_tag'"),
        (f"summary?{RANGE}&group_by=", "group_by", "'day', 'campaign' or 'demand_tag'"),
        (f"summary?{RANGE}&hour=1", "hour", "is not a parameter"),
        ("dates?start_date=2026-01-01", "start_date", "is not a parameter"),
    ],
)
def test_a_bad_parameter_is_named(http: httpx.Client, path: str, field: str, message: str) -> None:
    answer = http.get(f"{API}/{path}")
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith(f"{field} ")
    assert message in answer.json()["error"]


def test_a_loose_server_lets_unknown_parameters_pass() -> None:
    with LocalServer(loose=True) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        url = f"{server.url}{API}/dates"
        assert httpx.get(url, params={"cache": "1"}, headers=headers).status_code == 200
        assert httpx.get(f"{url}?a=1&a=2", headers=headers).status_code == 400


GOOD = '{"start_date":"2026-01-01","end_date":"2026-01-02","format":"csv"}'


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ("", "body", "invalid JSON"),
        ("{", "body", "invalid JSON"),
        (GOOD + "x", "body", "invalid JSON"),
        ('"text"', "body", "object"),
        ("[" * 100_000, "body", "invalid JSON"),
        ('{"start_date":"2026-01-01","end_date":"2026-01-02"}', "format", "is required"),
        (GOOD.replace("csv", "xls"), "format", "'csv', 'jsonl' or 'parquet'"),
        (GOOD.replace('"2026-01-01"', "1767225600"), "start_date", "string"),
        (GOOD.replace("2026-01-01", "2026-01-32"), "start_date", "an existing day"),
        (GOOD.replace("2026-01-01", "2026-01-03"), "end_date", "before start_date"),
        (GOOD.replace("}", ',"extra":1}'), "extra", "is not a field"),
        (GOOD.replace("}", ',"compression":"zip"}'), "compression", "'none' or 'gzip'"),
    ],
)
def test_a_bad_body_is_named(http: httpx.Client, body: str, field: str, message: str) -> None:
    answer = http.post(
        f"{API}/bulk-export", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith(f"{field} ")
    assert message in answer.json()["error"]


def test_a_password_that_does_not_fit_is_not_sent_back(server: LocalServer) -> None:
    body = {"email": "a@example.com", "password": ["hunter2"]}
    answer = httpx.post(f"{server.url}/api/auth/login", json=body)
    assert answer.status_code == 400
    assert "hunter2" not in answer.text


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_415(http: httpx.Client, content_type: str) -> None:
    answer = http.post(f"{API}/bulk-export", content=GOOD, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()) == (415, {"error": "Unsupported Media Type"})


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("x", 415), ("Identity", 200)])
def test_a_packed_body_is_415(http: httpx.Client, encoding: str, status: int) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    body = gzip.compress(GOOD.encode()) if encoding == "gzip" else GOOD.encode()
    answer = http.post(f"{API}/bulk-export", content=body, headers=headers)
    assert answer.status_code == status
    if status == 415:
        assert answer.json() == {"error": "Unsupported Media Type"}
        assert answer.headers["accept-encoding"] == "identity"


def test_a_body_over_one_mebibyte_is_413_announced_or_not(http: httpx.Client) -> None:
    too_long = b" " * (1 << 20) + GOOD.encode()
    headers = {"Content-Type": "application/json"}
    announced = http.post(f"{API}/bulk-export", content=too_long, headers=headers)
    assert (announced.status_code, announced.json()) == (413, {"error": "Content Too Large"})
    chunks = (too_long[at : at + 65_536] for at in range(0, len(too_long), 65_536))
    chunked = http.post(f"{API}/bulk-export", content=chunks, headers=headers)
    assert (chunked.status_code, chunked.json()) == (413, {"error": "Content Too Large"})


@pytest.mark.parametrize("path", ["/nowhere", "/api", f"{API}/", f"{API}/events/1", "/docs"])
def test_an_unknown_path_is_404_in_the_same_shape(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", f"{API}/dates", "GET"),
        ("DELETE", f"{API}/events", "GET"),
        ("GET", f"{API}/bulk-export", "POST"),
        ("GET", "/api/auth/login", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
        ("PUT", "/_control/clock", "GET, POST"),
        ("PATCH", "/_control/faults", "DELETE, GET, POST"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_one(
    http: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, answer.json()) == (405, {"error": "Method Not Allowed"})
    assert answer.headers["allow"] == allowed


def test_every_answer_carries_a_request_id_of_its_own(http: httpx.Client) -> None:
    answers = [http.get(path) for path in (f"{API}/dates", "/nowhere", f"{API}/events")]
    assert [answer.status_code for answer in answers] == [200, 404, 400]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3


def test_a_failure_inside_is_a_plain_500_and_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with LocalServer() as server, httpx.Client(base_url=server.url) as http:
        http.headers["Authorization"] = f"Bearer {server.api_key}"
        folder = server.settings.data / "partners" / "1"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            (folder / name).unlink(missing_ok=True)
        (folder / "ledger.db").write_bytes(b"no database" * 500)
        answer = http.get(f"{API}/dates")
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal Server Error"})
        request = answer.headers["x-request-id"]
        assert [record for record in caplog.records if request in record.message]
        assert http.get(f"{API}/nowhere").status_code == 404
