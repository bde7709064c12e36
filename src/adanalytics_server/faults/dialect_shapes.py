"""Where the choices of a dialect are read: one function for each gap."""

from collections.abc import Mapping, Sequence
from email.utils import formatdate
from urllib.parse import urlsplit

import msgspec

from adanalytics_server.accounts import WINDOW_SECONDS, Allowance
from adanalytics_server.api.parameters import MOST_PER_PAGE
from adanalytics_server.errors import bad_parameter
from adanalytics_server.faults.dialects import STATUS_WORDS, Dialect

Shaped = tuple[bytes, dict[str, str]]


def events_body(
    dialect: Dialect, pieces: Sequence[bytes], numbers: Mapping[str, object]
) -> tuple[list[bytes], dict[str, str]]:
    """Wrap the events of a page, already JSON, and its page numbers: a body and headers.

    The body comes in parts, as the events do: joining megabytes costs as much as reading them.
    """
    encoded = msgspec.json.encode(numbers)
    beside, headers = b"", {}
    match dialect.metadata:
        case "pagination":
            beside = b',"pagination":%b' % encoded
        case "meta":
            beside = b',"meta":%b' % encoded
        case "flat":
            beside = b",%b" % encoded[1:-1]
        case "header":
            headers = {
                "X-Page": str(numbers["page"]),
                "X-Per-Page": str(numbers["per_page"]),
                "X-Total-Count": str(numbers["total"]),
                "X-Total-Pages": str(numbers["total_pages"]),
            }
    match dialect.envelope:
        case "array":
            before, after = b"[", b"]"
        case "nested":
            before, after = b'{"data":{"events":[', b"]%b}}" % beside
        case name:
            before, after = b'{"%b":[' % name.encode(), b"]%b}" % beside
    parts = [part for piece in pieces for part in (b",", piece)]
    return [before, *parts[1:], after], headers


def summary_body(dialect: Dialect, summary: Mapping[str, object]) -> bytes:
    """Write a summary with its rows where the dialect has rows."""
    rows = summary["summary"]
    rest = {name: value for name, value in summary.items() if name != "summary"}
    match dialect.envelope:
        case "events":
            return msgspec.json.encode(summary)
        case "array":
            return msgspec.json.encode(rows)
        case "nested":
            return msgspec.json.encode({"data": {"summary": rows}, **rest})
        case name:
            return msgspec.json.encode({name: rows, **rest})


def export_body(dialect: Dialect, export: Mapping[str, object], location: str | None) -> Shaped:
    """Write the state of an export and its ``Location``, which is ``location`` by default."""
    status, url = str(export["status"]), str(export["download_url"])
    body = {**export, "status": STATUS_WORDS[dialect.words].get(status, status)}
    match dialect.link:
        case "download_url":
            pass
        case "relative":
            parts = urlsplit(url)
            body["download_url"] = f"{parts.path}?{parts.query}"
        case "header":
            del body["download_url"]
            location = url
        case name:
            body[name] = body.pop("download_url")
    return msgspec.json.encode(body), {"Location": location} if location else {}


def rate_headers(dialect: Dialect, allowance: Allowance, now: int) -> dict[str, str]:
    """Return what an answer says about the request limit; ``now`` in milliseconds since 1970."""
    headers = {}
    if dialect.rate == "ratelimit":
        headers = {
            "RateLimit-Policy": f'"hour";q={allowance.limit};w={WINDOW_SECONDS}',
            "RateLimit": f'"hour";r={allowance.remaining};t={allowance.seconds}',
        }
    elif dialect.rate != "none":
        moment = -(-now // 1000) if dialect.rate == "epoch" else 0
        headers = {
            "X-RateLimit-Limit": str(allowance.limit),
            "X-RateLimit-Remaining": str(allowance.remaining),
            "X-RateLimit-Reset": str(moment + allowance.seconds),
        }
    if not allowance.passes:
        headers |= retry_after(dialect, allowance.seconds, now)
    return headers


def retry_after(dialect: Dialect, seconds: int, now: int) -> dict[str, str]:
    """Return the header that says when to come again; ``now`` in milliseconds since 1970."""
    match dialect.retry_after:
        case "seconds":
            return {"Retry-After": str(seconds)}
        case "date":
            # Rounded up, because a date has no fractions and too early is a refusal again.
            return {"Retry-After": formatdate(-(-now // 1000) + seconds, usegmt=True)}
        case "none":
            return {}


def rows_per_page(dialect: Dialect, asked: int) -> int:
    """Return the size of a page, or refuse one over the maximum."""
    if asked <= MOST_PER_PAGE:
        return asked
    if not dialect.cuts_per_page:
        message = f"should be less than or equal to {MOST_PER_PAGE}"
        raise bad_parameter("per_page", message)
    return MOST_PER_PAGE
