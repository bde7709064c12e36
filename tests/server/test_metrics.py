"""The metrics: what was done is what is counted, in the format that Prometheus reads."""

import re

import httpx

from adanalytics_server.local import LocalServer
from adanalytics_server.serving import Metrics

API = "/api/partners/acme/ad-analytics"
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}


def values(text: str) -> dict[str, float]:
    """Read the samples of a page, by name and labels."""
    samples = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def test_requests_are_counted_by_operation_method_and_status(
    server: LocalServer, http: httpx.Client
) -> None:
    for _ in range(3):
        http.get(f"{API}/dates")
    sent = http.get(f"{API}/events", params=RANGE).content
    http.get(f"{API}/events")
    http.post(f"{API}/bulk-export", json={**RANGE, "format": "csv"})
    http.get(f"/{server.api_key}")
    answer = http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = values(answer.text)
    total = "adanalytics_requests_total"
    assert {name: value for name, value in found.items() if name.startswith(total)} == {
        f'{total}{{operation="dates",method="GET",status="200"}}': 3,
        f'{total}{{operation="events",method="GET",status="200"}}': 1,
        f'{total}{{operation="events",method="GET",status="400"}}': 1,
        f'{total}{{operation="start_export",method="POST",status="200"}}': 1,
        f'{total}{{operation="none",method="GET",status="404"}}': 1,
    }
    duration = "adanalytics_request_duration_seconds"
    assert found[f'{duration}_bucket{{operation="dates",le="+Inf"}}'] == 3
    assert found[f'{duration}_count{{operation="dates"}}'] == 3
    assert found['adanalytics_response_body_bytes_total{operation="events"}'] > len(sent)
    assert found["adanalytics_requests_in_progress"] == 1
    assert found['adanalytics_exports{status="completed"}'] == 1
    assert server.api_key not in answer.text


def test_a_histogram_is_cumulative() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.003, 0.3, 99.0):
        metrics.begin()
        metrics.end("dates", "GET", 200, seconds=seconds, sent_bytes=1)
    found = values(metrics.text({}))
    buckets = [
        found[f'adanalytics_request_duration_seconds_bucket{{operation="dates",le="{bound}"}}']
        for bound in ("0.001", "0.0025", "0.005", "0.25", "0.5", "10.0", "+Inf")
    ]
    assert buckets == [1, 1, 2, 2, 3, 3, 4]


def test_every_line_has_the_form_that_is_documented() -> None:
    metrics = Metrics()
    metrics.end("dates", "GET", None, seconds=0.5, sent_bytes=0)
    sample = re.compile(r'[a-z_]+(?:\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? -?[0-9.e+-]+')
    for line in metrics.text({"failed": 2}).splitlines():
        assert re.fullmatch(r"# (?:HELP|TYPE) [a-z_]+ .+", line) or sample.fullmatch(line)


def test_methods_that_nobody_knows_share_one_label() -> None:
    metrics = Metrics()
    for number in range(100):
        metrics.end("none", f"X{number}", 405, seconds=0.1, sent_bytes=0)
    total = 'adanalytics_requests_total{operation="none",method="other",status="405"}'
    assert values(metrics.text({}))[total] == 100
