"""The service's statements of rate limits: Retry-After, RateLimit and X-RateLimit headers."""

import re
import sys

from adanalytics_client._base.dates import read_http_date
from adanalytics_client._base.effects import ResponseHead

_NUMBER = re.compile(r"\d{1,12}(\.\d+)?", re.ASCII)
_PARAMETER = re.compile(r";\s*([rt])\s*=\s*(\d{1,10})", re.ASCII)
# The header's one policy in drafts 7 and earlier, such as of Node's express-rate-limit.
_MEMBER = re.compile(r"\b(remaining|reset)\s*=\s*(\d{1,10})", re.ASCII)

# A year: nobody waits longer, and dates have an end.
_LONGEST = 366 * 86_400.0

# A larger reset value is a moment, not a number of seconds to wait.
_EPOCH_FROM = 1_000_000_000


def retry_after(head: ResponseHead, now: float) -> float | None:
    """Return seconds the service asks to wait, at most a year; None without a readable header.

    `Retry-After` (RFC 9110, section 10.2.3: seconds, or a date, which counts from the answer's own
    `Date`) takes precedence, then `RateLimit` (draft-ietf-httpapi-ratelimit-headers, of which older
    versions have `RateLimit-Reset`), then `X-RateLimit-Reset`.
    """
    text = (head.get("retry-after") or "").strip()
    seconds = None
    if _NUMBER.fullmatch(text):
        seconds = float(text)
    elif (moment := read_http_date(text)) is not None:
        # By the service's clock, which may be ahead of this machine's.
        seconds = moment - (head.sent_at or now)
    if seconds is None:
        _, seconds = _rate(head, now)
    return None if seconds is None else min(max(0.0, seconds), _LONGEST)


def rate_window(head: ResponseHead, now: float) -> tuple[int, float] | None:
    """Return requests left and seconds until the window frees up; None unless both are stated."""
    # Most services state nothing, and to find that out by patterns takes long.
    if not any("ratelimit" in name for name in head.headers):
        return None
    remaining, seconds = _rate(head, now)
    return None if remaining is None or seconds is None else (remaining, seconds)


def _rate(head: ResponseHead, now: float) -> tuple[int | None, float | None]:
    """Return requests left and seconds to the reset, by the policy with the fewest left."""
    policies = [dict(_PARAMETER.findall(text)) for text in (head.get("ratelimit") or "").split(",")]
    # A service may limit seconds and hours at once; the tightest one stops the client.
    policy = min(policies, key=lambda entry: int(entry.get("r", sys.maxsize)))
    remaining = policy.get("r") or _stated(head, "remaining")
    seconds = None
    if "t" in policy:
        seconds = float(policy["t"])
    elif _NUMBER.fullmatch(reset := _stated(head, "reset")):
        seconds = float(reset)
        # Nobody states whether this header is a duration or a moment; its size tells.
        if seconds > _EPOCH_FROM:
            seconds = max(0.0, seconds - now)
    return int(float(remaining)) if _NUMBER.fullmatch(remaining) else None, seconds


def _stated(head: ResponseHead, name: str) -> str:
    members = dict(_MEMBER.findall(head.get("ratelimit") or ""))
    headers = (f"ratelimit-{name}", f"x-ratelimit-{name}")
    texts = [members.get(name), *map(head.get, headers)]
    return next((text.strip() for text in texts if text), "")
