"""What is on a local server when it starts: a partner, an admin, a key, generated events."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from adanalytics_server.accounts import AccountError, Accounts, ApiKeys, Partner
from adanalytics_server.clock import Clock
from adanalytics_server.seed.generate import generate
from adanalytics_server.storage.state import open_state
from adanalytics_server.storage.stores import Stores

ADMIN_EMAIL = "admin@example.com"
ADMIN_PASSWORD = "correct-horse-battery"  # noqa: S105  # of a server that lives for one test
# Made once and for all: hashing is slow on purpose, and this password is no secret.
ADMIN_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$bG9jYWwtc2VydmVyLWtleQ"
    "$pC/SlKJ+3hPzQcQO5AqqjG2HOemVmF+1nQjiYyptX5E"
)
FIRST_DAY = date(2026, 1, 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Data to generate before the start.

    Attributes:
        start: the first day.
        days: how many days.
        events_per_day: events of each of them.
        seed: the same seed gives the same events.
    """

    start: date = FIRST_DAY
    days: int = 1
    events_per_day: int = 2_000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """The partner that is there and a key that reads it."""

    partner: Partner
    api_key: str


async def prepare_access(data: Path, clock: Clock, *, partner: str, currency: str) -> Access:
    """Make the partner and the admin where they are missing, and a new key in any case."""
    async with open_state(data) as state:
        accounts = Accounts(state, clock)
        known = {found.id: found for found in await accounts.partners()}
        its = known.get(partner) or await accounts.add_partner(
            partner, name=partner.title(), currency=currency
        )
        try:
            await accounts.user_by_email(ADMIN_EMAIL)
        except AccountError:
            await accounts.add_user_with_hash(ADMIN_EMAIL, password_hash=ADMIN_HASH, role="admin")
        keys = ApiKeys(state, accounts, clock)
        return Access(its, await keys.create(ADMIN_EMAIL, name="local server"))


def fill(data: Path, partner: Partner, sample: Sample) -> None:
    """Generate a sample's events into the partner's files; what is there already stays."""
    stores = Stores(data)
    try:
        generate(
            stores.of(partner.number),
            partner_id=partner.id,
            currency=partner.currency,
            start=sample.start,
            days=sample.days,
            events_per_day=sample.events_per_day,
            seed=sample.seed,
        )
    finally:
        stores.close()
