"""What a service repeats of the credential is shown nowhere, in both variants."""

import html
import logging
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.stand_in import Asked, Say

import adanalytics_client
from adanalytics_client import errors

KEY = "aak_S3CRET-key"
DATES = {"dates": ["2026-01-15"]}


def test_a_request_id_that_echoes_it(bench: Bench) -> None:
    notes = Notes()
    bench.says(Say(DATES, headers={"X-Request-Id": f"Bearer {KEY}"}))
    bench.open(api_key=KEY, observer=notes).call("dates")
    assert notes.told[-1].request_id == "Bearer ***"


def test_a_redirect_that_echoes_it_in_its_path(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    moved = Say(status=307, headers={"Location": f"/{KEY}/dates"})
    bench.says(moved, Say(status=503), moved, Say(DATES))
    with caplog.at_level(logging.DEBUG):
        assert len(bench.open(api_key=KEY, observer=notes).call("dates")) == 1
    assert bench.asked[-1].target == f"/{KEY}/dates"
    assert "/***/dates" in caplog.text
    assert KEY not in f"{notes.told}{caplog.text}"


def test_a_content_encoding_that_echoes_it(bench: Bench) -> None:
    bench.says(Say(DATES, headers={"Content-Encoding": KEY}))
    with pytest.raises(errors.ProtocolError, match=r"\*\*\*") as caught:
        bench.open(api_key=KEY).call("dates")
    assert "s3cret" not in str(caught.value).lower()


def test_an_export_that_echoes_it(bench: Bench) -> None:
    file = {"url": "/f.csv", "name": f"{KEY}.csv"}
    bench.says(Say({"export_id": KEY, "status": KEY, "files": [file], KEY: 1}))
    job = bench.open(api_key=KEY).call("start_export", "2026-01-15")
    assert job.export_id == job.last_status.status_text == "***"
    assert KEY not in repr(job)
    assert KEY not in repr(job.last_status.files)


def test_a_request_id_of_a_refused_export_that_echoes_it(bench: Bench) -> None:
    bench.says(Say({"error": "no"}, headers={"X-Request-Id": f"r-{KEY}"}))
    with pytest.raises(errors.ExportFailed) as caught:
        bench.open(api_key=KEY).call("start_export", "2026-01-15")
    assert caught.value.request_id == "r-***"


def test_a_text_that_cannot_be_encoded(bench: Bench) -> None:
    """JSON may hold half a surrogate pair; a log or a terminal may not."""
    variant = bench.open()
    bench.says(Say({"error": "no \ud800 here"}, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        variant.call("dates")
    assert r"no \ud800 here" in str(caught.value).encode().decode()
    assert caught.value.reason == r"no \ud800 here"
    bench.says(Say({"status": "failed", "error": "\ud800"}))
    with pytest.raises(errors.ExportFailed) as failed:
        variant.on(variant.call("start_export", "2026-01-15"), "wait")
    assert str(failed.value).encode()


SIGNED = "/f.csv?X-Sign=s1gnature&format=csv"


@pytest.mark.parametrize("before", ["", "https://files.example", "%2Ffiles?at="])
@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"error": "no {}"}},
        {"status": 403, "body": {"error": "no {}"}, "headers": {"Retry-After": "1"}},
        {"status": 500, "body": {"message": "no", "details": [{"field": "{}", "message": "{}."}]}},
        {"body": {"error": "cannot serve {}"}},
        {"body": b"<Error><Code>Gone</Code><Message>{}</Message></Error>"},
        {"body": {"error": "no {}"}, "headers": {"Content-Type": "application/json"}},
        {"status": 401, "headers": {"X-Request-Id": "{}"}},
    ],
)
def test_an_error_that_echoes_a_signed_address(
    bench: Bench,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    before: str,
    answer: dict[str, Any],
) -> None:
    notes = Notes()
    address = f"{before}{SIGNED}"
    failing = Say(**{name: filled(value, address) for name, value in answer.items()})
    bench.says(
        bulk_export=[Say({"status": "done", "url": SIGNED, "format": "csv"})], f_csv=[failing]
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.AdAnalyticsError) as caught:
        bench.open(observer=notes).call("export", "2026-01-15", to=tmp_path / "out.csv")
    kept = f"{caught.value}{caught.value!r}{vars(caught.value)}{notes.told}{caplog.text}"
    assert "s1gnature" not in kept
    assert "***" in kept


def filled(value: Any, address: str) -> Any:
    """A part of an answer with an address wherever it has braces."""
    if isinstance(value, dict):
        return {name: filled(each, address) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, address) for each in value]
    if isinstance(value, bytes):
        return value.replace(b"{}", address.encode())
    return value.replace("{}", address) if isinstance(value, str) else value


def test_words_beside_data_and_of_an_export_that_echo_a_signed_address(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    bench.says(
        events=[Say({"events": [{}], "total": 1, "error": f"stale: {SIGNED}"})],
        dates=[Say({**DATES, "error": f"stale: {SIGNED}"})],
        bulk_export=[Say({"status": "failed", "error": f"not written to {SIGNED}"})],
    )
    variant = bench.open(observer=notes)
    assert variant.rows("2026-01-15", split="none", on_drift="warn") == [{}]
    assert "f.csv?format=csv&***" in caplog.text
    with pytest.raises(errors.ProtocolError) as refused:
        variant.call("dates")
    assert "f.csv?format=csv&***" in refused.value.message
    with pytest.raises(errors.ExportFailed) as caught:
        variant.on(variant.call("start_export", "2026-01-15"), "wait")
    assert "f.csv?format=csv&***" in caught.value.message
    assert "s1gnature" not in f"{refused.value!r}{caught.value!r}{notes.told}{caplog.text}"


@pytest.mark.parametrize(
    "spelling",
    [
        lambda key: quote(key, safe="").lower(),
        lambda key: quote(quote(key, safe="")),
        lambda key: key.replace("+", r"\u002B").replace("/", r"\/"),
        html.escape,
        lambda key: key.replace("+", "&#43;").replace('"', "&quot;"),
    ],
    ids=["lower case", "twice", "of JSON", "of HTML", "numbers of HTML"],
)
def test_a_credential_that_is_echoed_in_another_spelling(
    bench: Bench, spelling: Callable[[str], str]
) -> None:
    key = "s3cr+t/k<y=="
    notes = Notes()
    echoed = spelling(key)
    bench.says(
        Say(status=302, headers={"Location": f"/{quote(key, safe='').lower()}/dates"}),
        Say({"error": f"no {echoed}!"}, status=400, headers={"X-Request-Id": echoed}),
    )
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.open(api_key=key, observer=notes).call("dates")
    assert caught.value.reason == "no ***!"
    assert caught.value.request_id == "***"
    assert "s3cr" not in f"{vars(caught.value)}{notes.told}"


def test_a_token_that_was_replaced_is_still_one(bench: Bench) -> None:
    """A slow request may still have been sent with it."""
    notes = Notes()
    tokens = [f"s3cret-{number}" for number in range(4)]
    logins, echo = iter(tokens), f"Bearer {tokens[0]}"

    def script(asked: Asked) -> Say:
        if asked.path.endswith("login"):
            return Say({"token": next(logins)})
        if asked.headers["authorization"] != f"Bearer {tokens[-1]}":
            return Say(status=401)
        return Say({"error": f"no {echo}"}, status=403, headers={"X-Request-Id": echo})

    bench.script = script
    variant = bench.open(email="a@b.example", password="pass-word-1", observer=notes)
    for _ in range(2):
        with pytest.raises(errors.AuthenticationError):
            variant.call("dates")
    with pytest.raises(errors.PermissionDenied) as caught:
        variant.call("dates")
    assert caught.value.reason == "no Bearer ***"
    assert caught.value.request_id == "Bearer ***"
    assert "s3cret" not in f"{vars(caught.value)}{notes.told}"


UNREADABLE = b'{"event_id":"aak_S3CRET-key","revenue":1e99999999999999999999}'
FIRST, SECOND = b'{"data":[%b]}' % UNREADABLE, b'{"data":[{},%b]}' % UNREADABLE


@pytest.mark.parametrize(
    ("way", "event", "columns"),
    [
        ("to_arrow", {"event_id": "e", KEY: 1}, ["absent"]),
        ("to_pandas", {"event_id": "e", KEY: 1}, ["absent"]),
        ("to_arrow_batches", {"event_id": "e", KEY: 1}, ["absent"]),
        ("k.parquet", {"event_id": "e", KEY: 1}, ["absent"]),
        ("k.arrow", {"event_id": "e", KEY: 1}, ["absent"]),
        ("k.csv", {"event_id": "e", KEY: 1}, ["absent"]),
        ("k.jsonl", {"event_id": "e", KEY: 1}, ["aak_S3CROT-key"]),
        ("k.csv", SECOND, None),
        ("rows", SECOND, None),
        ("rows", FIRST, None),
        ("pages", SECOND, None),
        ("events", SECOND, None),
    ],
)
def test_an_event_that_echoes_it(
    bench: Bench, tmp_path: Path, way: str, event: dict[str, Any] | bytes, columns: list[str] | None
) -> None:
    bench.says(Say(event if isinstance(event, bytes) else {"data": [event], "total": 1}))
    variant = bench.open(api_key=KEY)
    query = variant.client.events("2026-01-15", split="none")
    options = {} if columns is None else {"columns": columns}
    if way.startswith("k."):
        read = partial(variant.on, query, "write", tmp_path / way, **options)
    elif way in {"to_arrow", "to_pandas"}:
        read = partial(variant.on, query, way, **options)
    else:
        iterated = query if way == "events" else getattr(query, way)(**options)
        read = partial(variant.all_of, iterated)
    with pytest.raises(errors.AdAnalyticsError) as caught:
        read()
    assert "event" in str(caught.value)
    assert "S3CRE" not in shown(caught.value)


def shown(error: BaseException) -> str:
    """All that an error, those behind it and our own frames tell."""
    (home,) = adanalytics_client.__path__
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [each.locals for each in told.stack if each.filename.startswith(home)]
    behind = [shown(each) for each in (error.__cause__, error.__context__) if each is not None]
    return f"{error}{error!r}{error.args}{vars(error)}{frames}{behind}"


@pytest.mark.parametrize(
    "way", ["to_arrow", "to_pandas", "to_arrow_batches", "k.parquet", "events"]
)
def test_a_field_whose_name_echoes_it(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """Its column becomes text, and no field is a documented one: both are logged by name."""
    rows = [{f"Bearer {KEY}": value} for value in (1, "x")]
    bench.says(Say({"data": rows, "meta": {"total": 2}}))
    variant = bench.open(api_key=KEY)
    query = variant.client.events("2026-01-15", split="none", check="none")
    if way.startswith("k."):
        variant.on(query, "write", tmp_path / way)
    elif way in {"to_arrow", "to_pandas"}:
        variant.on(query, way)
    else:
        variant.all_of(query if way == "events" else getattr(query, way)())
    assert "Bearer ***" in caplog.text
    assert KEY not in caplog.text
