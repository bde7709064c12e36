"""A partner, an admin, a key and two generated days, for the demo and for `serve --demo`."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from adanalytics_cli.core.invocation import Invocation

from .data_folder import generate_days

PARTNER = "acme"
EMAIL = "demo@example.com"
FIRST_DAY = date(2026, 1, 15)
DAYS = 2
LAST_DAY = FIRST_DAY + timedelta(days=DAYS - 1)
EVENTS_PER_DAY = 120_000
SEED = 7


@dataclass(frozen=True, slots=True)
class DemoAccess:
    """What is needed to use the demo's data.

    `password` signs `EMAIL` in to the web area; it is None when the user was made before.
    """

    api_key: str = field(repr=False)
    password: str | None = field(default=None, repr=False)

    def commands(self, url: str) -> Iterator[str]:
        """Shell lines that set up the client, and one to try."""
        yield f"  export ADANALYTICS_BASE_URL={url}"
        yield f"  export ADANALYTICS_PARTNER={PARTNER}"
        yield f"  export ADANALYTICS_API_KEY={self.api_key}"
        yield f"  adanalytics summary {FIRST_DAY} {LAST_DAY} -g campaign"

    def sign_in(self, url: str) -> Iterator[str]:
        """Return lines that say how to sign in to the web area, each short enough to copy."""
        yield f"Web area: {url}/"
        yield f"  e-mail    {EMAIL}"
        yield f"  password  {self.password or 'the one shown on the first run'}"


def prepare_demo_data(
    data: Path, invocation: Invocation, *, events: int = EVENTS_PER_DAY, key: str | None = None
) -> DemoAccess:
    """Add what `data` lacks for the demo, and make a fresh key, or this one.

    Preparing the same folder again adds no events, because they come from a fixed seed.
    """
    from adanalytics_server import admin
    from adanalytics_server.seed.generate import Sample

    if PARTNER not in {partner.id for partner in admin.list_partners(data)}:
        admin.add_partner(data, PARTNER, name="Acme Media", currency="USD")
    password = None
    if EMAIL not in {user.email for user in admin.list_users(data)}:
        password = secrets.token_urlsafe(12)
        admin.add_user(data, EMAIL, password=password, role="admin")
    sample = Sample(start=FIRST_DAY, days=DAYS, events_per_day=events, seed=SEED)
    generate_days(data, PARTNER, sample, invocation, label="demo data")
    return DemoAccess(admin.create_key(data, EMAIL, name="demo", key=key), password)
