"""The short text form of faults: every sentence of the grammar, and what is none."""

import re
from pathlib import Path
from typing import Any

import pytest

from adanalytics_server.faults import EFFECTS, Fault, FaultError, parse_fault

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "test-controls.md"


def status(code: int, **fields: Any) -> Fault:
    return Fault(effect="status", status=code, **fields)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("503", status(503)),
        ("503 always", status(503)),
        ("503 once", status(503, times=1)),
        ("503 once per hour", status(503, times=1, per="hour")),
        ("503 Twice PER request", status(503, times=2, per="request")),
        ("429 twice", status(429, times=2)),
        ("429 retry-after 5 3 times", status(429, retry_after="5", times=3)),
        ("500 with probability 0.25 seed -7", status(500, probability=0.25, seed=-7)),
        ("401 for key aB3_ once", status(401, key="aB3_", times=1)),
        ("reset on events after 3", Fault(effect="reset", operation="events", after=3)),
        ("reset after 3 on events", Fault(effect="reset", operation="events", after=3)),
        ("reset on POST", Fault(effect="reset", method="POST")),
        ("reset on get /exports/*", Fault(effect="reset", method="GET", path="/exports/*")),
        ("empty reply on POST start_export", Fault(
            effect="empty_reply", method="POST", operation="start_export"
        )),
        ("latency 200ms", Fault(effect="latency", seconds=0.2)),
        ("slow body 1.5s once", Fault(effect="slow_body", seconds=1.5, times=1)),
        ("page drift", Fault(effect="page_drift")),
        ("page drift 3 twice", Fault(effect="page_drift", rows=3, times=2)),
        ("page drift 3 times", Fault(effect="page_drift", times=3)),
        ("page drift 2 3 times", Fault(effect="page_drift", rows=2, times=3)),
    ],
)  # fmt: skip
def test_a_sentence_is_a_fault(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize("effect", sorted(set(EFFECTS) - {"status", "latency", "slow_body"}))
def test_every_effect_has_its_words(effect: str) -> None:
    fault = parse_fault(f"{effect.replace('_', ' ')} once")
    assert (fault.effect, fault.times) == (effect, 1)
    assert fault.label == effect.replace("_", " ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must begin with a status"),
        ("once 503", "must begin with a status"),
        ("199", "must begin with a status"),
        ("600", "must begin with a status"),
        ("rest", "empty reply"),
        ("503 onec", "cannot read 'onec'; a fault may say: retry-after SECONDS"),
        ("503 once twice", "'times' occurs twice"),
        ("503 per hour", "cannot read 'per hour'; "),
        ("503 always per hour", "per needs times"),
        ("503 once per day", "cannot read 'per day'; "),
        ("503 3", "cannot read '3'; "),
        ("503 0 times", "times must be at least 1"),
        ("503 after", "cannot read 'after'; "),
        ("503 after -1", "cannot read 'after -1'; "),
        ("503 on", "on METHOD, a /path or one of login, "),
        ("503 on nothing", "cannot read 'on nothing'; "),
        ("503 on events on dates", "'on' occurs twice"),
        ("503 for key", "last four characters"),
        ("503 for key aak_the-whole-key", "exactly the last four"),
        ("503 with probability 2", "a number from 0 to 1"),
        ("503 with probability 0", "above 0 and at most 1"),
        ("503 with probability .5 seed x", "cannot read 'seed x'; "),
        ("503 retry-after", "cannot read 'retry-after'; "),
        ("429 retry-after x", "cannot read 'retry-after x'; "),
        ("429 retry-after once", "cannot read 'retry-after once'; "),
        ("latency", "a time such as 200ms"),
        ("latency 5", "a time such as 200ms"),
        ("latency 0ms", "needs seconds"),
        ("slow body 2h", "a time such as 200ms"),
        ("page drift 0", "rows must be at least 1"),
        ("page drift on dates", "works with events only"),
        ("stuck export on events", "works with start_export only"),
    ],
)
def test_what_is_no_sentence_says_which_word(text: str, problem: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse_fault(text)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"fault {text!r}: ")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"effect": "flood"}, "unknown effect 'flood'; known effects: status"),
        ({"effect": "status"}, "a status from 200 to 599"),
        ({"effect": "reset", "status": 503}, "takes no status"),
        ({"effect": "status", "status": 503, "seconds": 1.0}, "takes no seconds"),
        ({"effect": "status", "status": 503, "content_type": "text/plain"}, "needs a body"),
        ({"effect": "status", "status": 503, "retry_after": "1\r\nX: y"}, "printable ASCII"),
        ({"effect": "latency"}, "needs seconds"),
        ({"effect": "reset", "method": "get"}, "capital letters"),
        ({"effect": "reset", "path": "exports"}, "must begin with '/'"),
        (
            {"effect": "reset", "operation": "exports"},
            "unknown operation 'exports'; known operations: login",
        ),
        ({"effect": "reset", "after": -1}, "must not be negative"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(FaultError, match=problem):
        Fault(**fields)


def test_the_reference_page_has_every_effect() -> None:
    lines = PAGE.read_text().splitlines()
    words = [line.split("`")[1] for line in lines if line.startswith("| `")]
    effects = {parse_fault(text).effect for text in words if _is_fault(text)}
    assert effects == set(EFFECTS)


@pytest.mark.parametrize(
    "text", re.findall(r"(?<=```text\n).*?(?=```)", PAGE.read_text(), re.DOTALL)[0].splitlines()
)
def test_the_sentences_of_the_reference_page_are_faults(text: str) -> None:
    assert parse_fault(text).effect in EFFECTS


def _is_fault(text: str) -> bool:
    try:
        parse_fault(text)
    except FaultError:
        return False
    return True
