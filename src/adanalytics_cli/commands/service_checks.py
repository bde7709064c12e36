"""What `adanalytics doctor` asks of the service: one request, and what its answer tells."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from adanalytics_cli.account.credential import Credential
from adanalytics_cli.commands.machine_checks import Check
from adanalytics_client import (
    AdAnalyticsError,
    AuthenticationError,
    Client,
    NotFound,
    PermissionDenied,
    RetryPolicy,
    TransportError,
)

# More than a network needs; a token seems to end so much too early or late.
_TOLERATED_SECONDS = 30
_TIMEOUT = 10.0


def check_service(
    base_url: str,
    partner: str,
    credential: Credential,
    *,
    sign_in_again: str,
    clock: Callable[[], datetime],
) -> Iterator[Check]:
    """Whether it answers, takes the credential, shows the partner, and what time it has."""
    dates: list[tuple[str, datetime]] = []

    def note(response: httpx.Response) -> None:
        dates.append((response.headers.get("date", ""), clock()))

    with (
        httpx.Client(event_hooks={"response": [note]}, timeout=_TIMEOUT) as http,
        Client(
            base_url,
            partner=partner,
            api_key=credential.of_kind("api_key"),
            token=credential.of_kind("token"),
            email=credential.email if credential.kind == "password" else None,
            password=credential.of_kind("password"),
            retry=RetryPolicy(attempts=1),
            on_limit="raise",
            http=http,
        ) as client,
    ):
        try:
            days = client.dates()
            login = Check("ok", "login", f"accepted; {len(days):,} days of {partner} have data")
        except TransportError as error:
            yield Check("fail", "service", f"{base_url}: {error.message}", "Check --base-url.")
            return
        except AuthenticationError as error:
            login = Check("fail", "login", error.message, sign_in_again)
        except (PermissionDenied, NotFound) as error:
            login = Check("fail", "partner", error.message, f"Is '{partner}' the right partner?")
        except AdAnalyticsError as error:
            login = Check("fail", "service", error.message, "Try again later.")
        yield Check("ok", "service", f"{base_url} answers")
        yield login
        if dates:
            yield _clock(*dates[-1])
        left = client.quota.remaining
        yield Check("ok", "quota", "not counted" if left is None else f"{left:,} requests left")


def _clock(told: str, here: datetime) -> Check:
    try:
        there = parsedate_to_datetime(told)
    except ValueError:
        return Check("ok", "clock", "the service does not tell its time")
    # The header has whole seconds, cut off.
    away = (here - there.replace(tzinfo=there.tzinfo or UTC)).total_seconds()
    if abs(away) <= _TOLERATED_SECONDS:
        return Check("ok", "clock", "agrees with the service")
    side = "ahead of" if away > 0 else "behind"
    return Check(
        "warn",
        "clock",
        f"{abs(away):,.0f} s {side} the service",
        "Set the clock of this machine: 'today' and the end of a token depend on it.",
    )
