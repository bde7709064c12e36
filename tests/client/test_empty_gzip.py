"""Answers that announce gzip and have no body: they mean what they mean without the header."""

from datetime import date

import pytest
from tests.client.one_export import CSV, FILE, OneExport
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import errors

PACKED = {"Content-Encoding": "gzip"}
GOOD = Say({"dates": ["2026-01-15"]})


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("status", "error", "requests"),
    [
        (200, errors.ProtocolError, 3),
        (204, errors.ProtocolError, 1),
        (401, errors.AuthenticationError, 1),
        (404, errors.NotFound, 1),
        # It asks again until the second full hour, within max_wait.
        (429, errors.RateLimited, 16),
        (503, errors.ServerError, 3),
    ],
)
def test_an_error_is_a_typed_one(
    variant: Variant,
    stand_in: StandIn,
    status: int,
    error: type[errors.AdAnalyticsError],
    requests: int,
    chunked: bool,
) -> None:
    stand_in.says(Say(status=status, headers=PACKED, chunked=chunked and status != 204))
    with pytest.raises(error) as caught:
        variant.call("dates")
    assert type(caught.value) is error
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize("status", [302, 429, 503])
def test_the_next_request_is_sent(variant: Variant, stand_in: StandIn, status: int) -> None:
    headers = {**PACKED, "Location": "/there"} if status == 302 else PACKED
    stand_in.says(Say(status=status, headers=headers), GOOD)
    assert variant.call("dates") == [date(2026, 1, 15)]


def test_an_order_is_accepted(export: OneExport) -> None:
    export.says(
        bulk_export=[Say(status=202, headers={**PACKED, "Location": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
