"""What goes wrong on the way, and what becomes of it; requests and clocks of the caller's."""

import gzip
import json
import pickle
import socket
import threading
from datetime import date
from decimal import Decimal
from email.utils import formatdate
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Say
from tests.client.variants import BOTH_LIBRARIES, OpenVariant, Variant

from adanalytics_client import AsyncClient, QuotaPolicy, RetryPolicy, errors

DATES = {"dates": ["2026-01-15"]}


@BOTH_LIBRARIES
@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
def test_a_passing_error_is_tried_again(bench: Bench, status: int) -> None:
    bench.says(Say(status=status), Say(DATES))
    assert len(bench.call("dates")) == 1
    assert (len(bench.asked), bench.clock.sleeps) == (2, [0.5])


@pytest.mark.parametrize(
    "broken",
    [
        {"hang_up": True},
        {"body": b"<html>soon back</html>", "headers": {"Content-Type": "text/html"}},
        {"body": DATES, "cut": 5},
        {"body": DATES, "cut": 5, "chunked": True},
        {"body": b'{"dates": ["2026-01-15"', "headers": {"Content-Type": "application/json"}},
    ],
)
def test_a_damaged_answer_is_tried_again(bench: Bench, broken: dict[str, Any]) -> None:
    bench.says(Say(**broken), Say(DATES))
    assert len(bench.call("dates")) == 1
    assert len(bench.asked) == 2


def test_an_error_whose_body_is_cut_is_that_error(bench: Bench) -> None:
    text = {"error": "Too many requests were sent"}
    bench.says(Say(text, status=429, headers={"Retry-After": "9"}, cut=5), Say(DATES))
    assert len(bench.call("dates")) == 1
    assert bench.clock.sleeps == [9.0]
    bench.says(Say(text, status=404, cut=5))
    with pytest.raises(errors.NotFound):
        bench.call("dates")


def test_a_cut_answer_states_the_limit(bench: Bench) -> None:
    """Or the attempt after it would be one that the service has said it will refuse."""
    variant = bench.open(quota=QuotaPolicy(on_limit="raise"))
    bench.says(Say(DATES, headers={"RateLimit": '"hour";r=0;t=600'}, cut=5), Say(DATES))
    with pytest.raises(errors.QuotaExceeded):
        variant.call("dates")
    assert len(bench.asked) == 1


@BOTH_LIBRARIES
@pytest.mark.parametrize("lost", [1, 4, 8, 12, 20])
def test_a_gzip_body_without_its_end_is_found(bench: Bench, lost: int) -> None:
    """The length agrees with the cut body, so only gzip's own structure can tell."""
    packed = gzip.compress(b'{"dates": ["2026-01-15"]}')
    headers = {"Content-Encoding": "gzip"}
    bench.says(Say(packed[:-lost], headers=headers), Say(packed, headers=headers))
    assert len(bench.call("dates")) == 1
    assert len(bench.asked) == 2


@BOTH_LIBRARIES
def test_gzip_in_several_members_is_one_body(bench: Bench) -> None:
    packed = gzip.compress(b'{"dates": ["2026-') + gzip.compress(b'01-15"]}')
    bench.says(Say(packed, headers={"Content-Encoding": "gzip"}))
    assert len(bench.call("dates")) == 1


def test_an_encoding_that_was_not_asked_for_is_an_error(bench: Bench) -> None:
    bench.says(Say(DATES, headers={"Content-Encoding": "br"}))
    with pytest.raises(errors.ProtocolError, match="'br' was not asked for"):
        bench.call("dates")
    assert bench.asked[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidRequest),
        (401, errors.AuthenticationError),
        (403, errors.PermissionDenied),
        (404, errors.NotFound),
        (422, errors.InvalidRequest),
    ],
)
def test_a_final_error_is_typed_and_not_repeated(
    bench: Bench, status: int, kind: type[errors.StatusError]
) -> None:
    body = {"error": "no secret-key", "details": [{"field": "hour", "message": "too late"}]}
    bench.says(Say(body, status=status, headers={"X-Request-Id": "r-9"}))
    with pytest.raises(kind) as caught:
        bench.call("summary", "2026-01-15")
    error = caught.value
    assert (error.status, error.request_id, error.attempts) == (status, "r-9", 1)
    assert "no ***; hour too late" in str(error)
    assert "secret-key" not in str(error) + repr(error) + error.reason
    assert error.url == (
        f"{bench.url}/api/partners/acme/ad-analytics/summary"
        "?start_date=2026-01-15&end_date=2026-01-15"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert len(bench.asked) == 1


def test_an_error_carries_what_the_service_answered(bench: Bench) -> None:
    body = {"errors": [{"field": "hour", "message": "no secret-key"}, "late"], "code": 7}
    headers = {"Set-Cookie": "session=s3cr3t", "Authorization": "Bearer s3cr3t"}
    headers |= {"X-Echo": "secret-key", "X-Cost": "3"}
    bench.says(Say(body, status=422, headers=headers))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    error = caught.value
    assert error.errors == (errors.FieldProblem("hour", "no ***"), errors.FieldProblem("", "late"))
    assert error.message == "The service refused the request (422: hour no ***; late)."
    assert json.loads(error.body)["code"] == 7
    assert (error.headers["x-cost"], error.headers["x-echo"]) == ("3", "***")
    assert "s3cr3t" not in repr(vars(error))
    assert "secret-key" not in repr(vars(error))


@pytest.mark.parametrize(
    ("place", "words"), [(["query", "hour"], "hour too late"), ([], "too late"), ("x", "too late")]
)
def test_an_error_in_the_form_of_fastapi_is_told(bench: Bench, place: Any, words: str) -> None:
    bench.says(Say({"detail": [{"loc": place, "msg": "too late"}]}, status=422))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    assert caught.value.message == f"The service refused the request (422: {words})."


@pytest.mark.parametrize("size", [65_000, 131_000, 131_072, 131_080, 200_000])
def test_a_long_body_is_cut_without_half_a_secret(bench: Bench, size: int) -> None:
    body = b"secret-key" * 4000 + b"x" * (size - 40_005) + b"secret-key" + b"y" * 200_000
    bench.says(Say(body, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    assert caught.value.body.startswith("*" * 12_000)
    assert "sec" not in caught.value.body
    assert len(caught.value.body) <= 65_536


@pytest.mark.parametrize("text", ["é", "日", "\\xff"])
def test_the_first_64_kib_of_a_body_are_kept_in_any_alphabet(bench: Bench, text: str) -> None:
    body = text.encode() if text.isprintable() else b"\xff"
    bench.says(Say(body * 100_000, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    assert 65_500 < len(caught.value.body.encode()) <= 65_536


@pytest.mark.parametrize(
    ("status", "change"),
    [(400, True), (409, True), (422, True), (402, False), (413, False), (451, False), (304, False)],
)
def test_only_some_refusals_say_to_change_the_parameters(
    bench: Bench, status: int, change: bool
) -> None:
    bench.says(Say(status=status))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    assert ("parameters" in caught.value.remedy) is change


@pytest.mark.parametrize("status", [408, 425])
def test_a_request_that_never_began_is_a_failure_of_the_service(bench: Bench, status: int) -> None:
    """Nothing about the request is wrong, so the same one may help later."""
    bench.says(Say(status=status))
    with pytest.raises(errors.ServerError) as caught:
        bench.call("dates")
    assert (caught.value.remedy, caught.value.attempts) == ("Try later.", 3)


def test_an_error_about_a_huge_answer_is_short(bench: Bench) -> None:
    huge = {"k" * 100_000: 1}
    bench.says(Say({"status": "done", **huge}))
    with pytest.raises(errors.ProtocolError, match="names no file") as caught:
        bench.call("export", "2026-01-15", to="day.csv")
    assert len(str(caught.value)) < 3000


def test_both_limits_have_one_base(bench: Bench) -> None:
    limits = (errors.QuotaExceeded, errors.RateLimited)
    assert all(issubclass(each, errors.RequestLimitReached) for each in limits)
    bench.says(Say(status=403, headers={"Retry-After": "99999"}))
    with pytest.raises(errors.RequestLimitReached) as caught:
        bench.call("dates")
    assert caught.value.resumes_at is not None


def test_an_error_does_not_say_the_same_twice(bench: Bench) -> None:
    bench.says(Say({"error": "Not Found"}, status=404))
    with pytest.raises(errors.NotFound) as caught:
        bench.call("dates")
    assert caught.value.message == "Not found (404)."
    assert caught.value.remedy == "Check the partner and base_url."


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            {"hang_up": True},
            r"The connection to .* broke before an answer came: .*[^.]\. Try later",
        ),
        ({"body": DATES, "cut": 3}, r"The answer from .* was cut short: .*[^.]\. Try later"),
        ({"body": b" "}, "Status 200, but the body is empty instead of JSON"),
        (
            {"body": b"<p>", "headers": {"Content-Type": "text/html"}},
            "the body is an HTML page instead of JSON. Check base_url",
        ),
    ],
)
def test_what_stays_wrong_is_told_in_plain_words(
    bench: Bench, answer: dict[str, Any], message: str
) -> None:
    bench.says(Say(**answer))
    with pytest.raises((errors.TransportError, errors.ProtocolError), match=message):
        bench.call("dates")


@pytest.mark.parametrize("lead", [0, 485, 495])
def test_no_part_of_an_echoed_credential_is_left(bench: Bench, lead: int) -> None:
    """Long texts are cut; what is cut must not be half a secret."""
    bench.says(Say({"error": "x" * lead + "secret-key"}, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.call("dates")
    assert "sec" not in str(caught.value) + caught.value.reason


def test_a_password_is_known_in_the_spelling_of_json_and_of_addresses(bench: Bench) -> None:
    """Services that refuse a login may repeat what they were sent, as it was sent."""
    password = 'r\u00e4tsel "5%'
    variant = bench.open(email="a@b.example", password=password)
    spelled = [json.dumps(password), json.dumps(password, ensure_ascii=False)]
    told = " ".join([*spelled, quote(password), quote_plus(password), password])
    bench.script = lambda asked: Say({"error": f"{asked.body.decode()} {told}"}, status=400)
    with pytest.raises(errors.AuthenticationError, match=r"\*{3}") as caught:
        variant.call("dates")
    assert "tsel" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize(
    "answer",
    [
        {"body": {"secret-key": 1}},
        {"body": [], "headers": {"X-Request-Id": "secret-key"}, "status": 400},
        {"status": 302, "headers": {"Location": "ftp://x/secret-key"}},
        {"status": 401, "headers": {"Location": "/secret-key"}},
    ],
)
def test_no_place_of_an_answer_brings_the_credential_into_an_error(
    bench: Bench, answer: dict[str, Any]
) -> None:
    bench.says(Say(**answer))
    with pytest.raises(errors.AdAnalyticsError) as caught:
        bench.call("summary", "2026-01-15")
    assert "secret-key" not in str(caught.value) + repr(vars(caught.value))


def test_attempts_end(bench: Bench) -> None:
    bench.says(Say({"error": "broken"}, status=503))
    with pytest.raises(errors.ServerError, match="broken") as caught:
        bench.call("dates")
    assert (caught.value.attempts, bench.clock.sleeps) == (3, [0.5, 1.0])


def test_the_budget_ends_before_the_attempts(bench: Bench) -> None:
    bench.says(Say(status=503, headers={"Retry-After": "40"}))
    variant = bench.open(retry=RetryPolicy(attempts=9, budget=100))
    with pytest.raises(errors.ServerError):
        variant.call("dates")
    assert bench.clock.sleeps == [40.0, 40.0]


@BOTH_LIBRARIES
def test_nobody_listening_is_a_transport_error(open_variant: OpenVariant) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    variant = open_variant(url)
    with pytest.raises(errors.TransportError) as caught:
        variant.call("dates")
    assert caught.value.attempts == 3
    assert caught.value.message == (
        f"The client could not connect to {url[7:]}: Connection refused."
    )
    assert caught.value.remedy == "Check the address and the network, or try later."


@BOTH_LIBRARIES
def test_silence_is_a_timeout(open_variant: OpenVariant) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        variant = open_variant(url, timeout=0.05, retry=RetryPolicy(attempts=1))
        # Resets the connection, so that a timeout that never comes is another error.
        too_late = threading.Timer(10, silent.close)
        too_late.start()
        with pytest.raises(errors.RequestTimeout):
            variant.call("dates")
        too_late.cancel()


def test_what_is_not_a_date_is_a_protocol_error(bench: Bench) -> None:
    bench.says(Say({"dates": ["2026-01-15", 5]}))
    with pytest.raises(errors.ProtocolError, match="invalid entry"):
        bench.call("dates")


def test_a_summary_without_rows_names_its_keys(bench: Bench) -> None:
    bench.says(Say({"summary": "revenue 1", "more": {"revenue": "1"}}))
    with pytest.raises(errors.ProtocolError) as caught:
        bench.call("summary", "2026-01-15")
    assert caught.value.message == (
        "No list of records was found: summary is a text, not a list of objects. "
        "Keys seen: summary, more, more.revenue."
    )


def test_a_closed_client_says_so(open_variant: OpenVariant) -> None:
    variant = open_variant()
    variant.on(variant.client, "close")
    with pytest.raises(errors.ConfigurationError, match="closed"):
        variant.call("dates")


HOUR = 3600
YEAR = 365 * 24 * HOUR


def dated(seconds: float) -> Say:
    return Say({"dates": []}, headers={"Date": formatdate(seconds, usegmt=True)})


@pytest.mark.parametrize(
    ("away", "message"), [(YEAR, "365 days, 0:00:00 behind"), (-YEAR, "365 days, 0:00:00 ahead of")]
)
def test_a_clock_a_year_off_is_a_warning_once(
    bench: Bench, caplog: pytest.LogCaptureFixture, away: int, message: str
) -> None:
    bench.says(dated(bench.clock.now + away))
    bench.call("dates")
    bench.call("dates")
    bench.on(bench.client.with_options(timeout=5), "dates")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"is {message} the service's" in record.message


@pytest.mark.parametrize("date", [0, HOUR, -HOUR, None])
def test_an_hour_is_nothing_to_tell(
    bench: Bench, caplog: pytest.LogCaptureFixture, date: int | None
) -> None:
    bench.says(Say({"dates": []}) if date is None else dated(bench.clock.now + date))
    bench.call("dates")
    assert not caplog.records


def test_a_date_that_is_none_is_no_date(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.says(Say({"dates": []}, headers={"Date": "yesterday"}))
    bench.call("dates")
    assert not caplog.records


DATES_PATH = "/api/partners/acme/ad-analytics/dates"
SUMMARY = "/api/partners/acme/ad-analytics/summary"


def test_a_path_of_the_service(reference_variant: Variant) -> None:
    client = reference_variant.client
    before = client.quota.remaining
    found = reference_variant.call("request", "get", DATES_PATH)
    assert (found.status, found.data) == (200, {"dates": ["2026-01-15", "2026-01-16"]})
    assert found.headers["Content-Type"] == found.headers["content-type"] == "application/json"
    assert "X-Nothing" not in found.headers
    assert found.request_id
    day = date(2026, 1, 15)
    params = {"start_date": day, "end_date": day}
    (row,) = reference_variant.call("request", "GET", SUMMARY, params=params).data["data"]
    assert isinstance(row["revenue"], Decimal | str)
    assert client.quota.remaining == before - 2
    with pytest.raises(errors.NotFound):
        reference_variant.call("request", "GET", "/api/nothing")


def test_a_body_keeps_its_digits_and_an_empty_answer_is_none(bench: Bench) -> None:
    bench.says(Say(status=201))
    body = {"budget": Decimal("0.10"), "name": "Ä"}
    found = bench.call("request", "POST", "/api/campaigns/a b", json=body)
    assert (found.status, found.data) == (201, None)
    (asked,) = bench.asked
    assert (asked.method, asked.path) == ("POST", "/api/campaigns/a%20b")
    assert asked.body == '{"budget":0.10,"name":"Ä"}'.encode()
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["authorization"].endswith("key")


@pytest.mark.parametrize(("method", "sent"), [("GET", 2), ("POST", 1)])
def test_only_what_may_be_repeated_is_sent_again(bench: Bench, method: str, sent: int) -> None:
    bench.says(Say(status=503), Say({"done": True}))
    if sent == 1:
        with pytest.raises(errors.ServerError):
            bench.call("request", method, "/api/jobs")
    else:
        assert bench.call("request", method, "/api/jobs").data == {"done": True}
    assert len(bench.asked) == sent


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("BREW", "/api"),
        ("GET", "api"),
        ("GET", "http://elsewhere.example/api"),
        ("GET", "/api?page=1"),
        ("GET", "/api#top"),
    ],
)
def test_a_wrong_method_or_path_sends_nothing(bench: Bench, method: str, path: str) -> None:
    with pytest.raises(errors.ConfigurationError):
        bench.call("request", method, path)
    assert bench.asked == []


def test_further_parameters_are_sent_and_belong_to_the_token(bench: Bench) -> None:
    bench.script = lambda _: Say({"events": [{"event_id": "e-1"}], "total": 1})
    query = {"split": "none", "params": {"campaign_id": 7, "since": date(2026, 1, 2), "q": "ä&b"}}
    (page,) = bench.pages("2026-01-15", **query)
    (asked,) = bench.asked
    assert asked.query["campaign_id"] == "7"
    assert (asked.query["since"], asked.query["q"]) == ("2026-01-02", "ä&b")
    assert asked.query["page"] == "1"
    resumed = bench.client.events("2026-01-15", resume=page.token, **query)
    assert resumed.plan.params == (("campaign_id", "7"), ("since", "2026-01-02"), ("q", "ä&b"))
    assert "campaign_id=7" in str(resumed.plan)
    for other in ({"campaign_id": 8}, None):
        with pytest.raises(errors.ConfigurationError, match=r"page, campaign_id=7.*; this query"):
            bench.client.events("2026-01-15", resume=page.token, **{**query, "params": other})


def test_a_summary_takes_further_parameters(bench: Bench) -> None:
    bench.script = lambda _: Say({"summary": []}, headers={"X-Request-Id": "r-7"})
    found = bench.call("summary", "2026-01-15", params={"campaign_id": 7})
    assert bench.asked[0].query["campaign_id"] == "7"
    assert found.request_id == "r-7"


def test_a_list_is_sent_as_several_parameters(bench: Bench) -> None:
    bench.script = lambda _: Say({"data": [], "meta": {"total": 0}})
    params = {"tag": [1, "b", date(2026, 1, 2)], "q": 7}
    bench.call("summary", "2026-01-15", params=params)
    bench.rows("2026-01-15", split="none", params=params)
    bench.call("request", "GET", "/api/jobs", params=params)
    assert len(bench.asked) == 3
    for asked in bench.asked:
        assert asked.target.endswith("tag=1&tag=b&tag=2026-01-02&q=7")


def test_a_pull_with_further_parameters_is_not_compared_with_the_summary(bench: Bench) -> None:
    bench.script = lambda _: Say(status=204)
    assert bench.rows("2026-01-15", split="daily", params={"campaign_id": 7}) == []
    assert {asked.path.rpartition("/")[2] for asked in bench.asked} == {"events"}


@pytest.mark.parametrize("method", ["events", "summary"])
@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ({"start_date": "2026-01-01"}, "own names; the client itself sends start_date, end_date"),
        ({"": 1}, "own names"),
        ({"a": 1.5}, "a str, an int or a date"),
        ({"a": [1, None]}, r"or a list of these"),
        ({"a": []}, r"or a list of these"),
        ({"a": True}, "a str, an int or a date"),
        ([("a", 1)], "a dict, such as"),
    ],
)
def test_a_wrong_parameter_is_refused(bench: Bench, method: str, params: Any, remedy: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=remedy):
        bench.call(method, "2026-01-15", params=params)
    assert bench.asked == []


def test_the_request_id_of_a_success_is_no_part_of_the_data(reference_variant: Variant) -> None:
    first, second = (reference_variant.call("summary", "2026-01-15") for _ in range(2))
    assert first.request_id
    assert first.request_id != second.request_id
    assert first == second
    assert "request_id" not in first.model_dump()
    assert "request_id" not in repr(first)
    assert pickle.loads(pickle.dumps(first)).request_id == first.request_id
    pages = [reference_variant.pages("2026-01-15", split="none") for _ in range(2)]
    assert pages[0] == pages[1]
    assert pages[0][0].request_id != pages[1][0].request_id


def test_a_client_says_where_and_for_whom(bench: Bench) -> None:
    assert (bench.client.base_url, bench.client.partner) == (bench.url, "acme")


def test_without_asyncio_the_error_says_so() -> None:
    client = AsyncClient("http://stats.example", api_key="k", partner="acme")
    calls: list[Any] = [client.dates(), client.events("2026-01-15").pages().__anext__()]
    for call in calls:
        with pytest.raises(errors.ConfigurationError, match="event loop of asyncio"):
            call.send(None)
    # As `async with` closes it when the error passes.
    with pytest.raises(StopIteration):
        client.close().send(None)
