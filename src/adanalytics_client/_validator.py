"""Which header of an answer proves that a later one is about the same bytes."""

from email.utils import parsedate_to_datetime

from adanalytics_client._effects import Head


def is_etag(validator: str) -> bool:
    """Whether a validator is a strong ETag and not a date."""
    return validator.startswith('"')


def validator_of(head: Head) -> str | None:
    """What `If-Range` may carry, or None when the answer has no strong validator.

    A strong ETag; else the date of the last change, which is strong only when the answer was sent
    at least a second later (RFC 9110, sections 8.8.2.2 and 13.1.5).
    """
    etag = (head.get("etag") or "").strip()
    if is_etag(etag):
        return etag
    changed, sent = head.get("last-modified"), head.get("date")
    if changed is None or sent is None:
        return None
    try:
        age = parsedate_to_datetime(sent) - parsedate_to_datetime(changed)
    except (TypeError, ValueError, OverflowError):
        return None
    return changed if age.total_seconds() >= 1 else None


def is_same_version(head: Head, validator: str | None) -> bool:
    """Whether a 206 is about the version that has `validator`; one with an ETag must repeat it."""
    if validator is not None and is_etag(validator):
        return head.get("etag") == validator
    return head.get("last-modified") in (None, validator)
