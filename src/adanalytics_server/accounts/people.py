"""Partners and users, and the partners that a user may read."""

import asyncio
import re
import sqlite3
from dataclasses import dataclass
from typing import Literal, NamedTuple

from adanalytics_server.clock import Clock
from adanalytics_server.storage.state import State

from .credentials import hash_password, password_matches

Role = Literal["admin", "analyst", "viewer"]

# No unpaired surrogates: Python makes them from bytes that are not UTF-8.
_EMAIL = re.compile(r"[^@\s\x00-\x1f\ud800-\udfff]{1,64}@[^@\s\x00-\x1f\ud800-\udfff]{1,190}")
# ISO 4217, list one of 2026-01-01:
# https://www.six-group.com/en/products-services/financial-information/data-standards.html
_CURRENCIES = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL
GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW
KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD
NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP
SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS
VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER
ZAR ZMW ZWG
"""
# No comma, which separates several partners on a command line.
_PARTNER_ID = re.compile(r"(?!\s)[^/,\x00-\x1f\x7f\ud800-\udfff]{1,200}(?<!\s)")
# No control characters, which a terminal would obey, and no marks that change the direction of the
# text around a name.
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SHORTEST_PASSWORD = 8
_USERS = "SELECT number, email, role FROM users"


class AccountError(ValueError):
    """A partner, user or key cannot be created or found; the text says what to do."""


class Partner(NamedTuple):
    """A partner: ``number`` names its folder, ``id`` is in the paths of the API."""

    number: int
    id: str
    name: str
    currency: str


class User(NamedTuple):
    """Someone who can sign in; an ``admin`` reads every partner, other roles the linked ones."""

    number: int
    email: str
    role: Role


@dataclass
class Accounts:
    """Reads and changes the partners and users of a server."""

    _state: State
    _clock: Clock

    async def add_partner(self, partner_id: str, *, name: str, currency: str) -> Partner:
        """Add a partner.

        Raises:
            AccountError: the id is taken or unusable in a path, the name is not printable text, or
                the currency is not a code.
        """
        if not _PARTNER_ID.fullmatch(partner_id) or partner_id in {".", ".."}:
            raise AccountError(
                f"Invalid partner id {partner_id!r}. Use 1 to 200 characters,"
                " without spaces around them, '/', ',' or control characters."
            )
        if not name.strip():
            raise AccountError(f"Partner {partner_id!r} needs a name.")
        check_name(name)
        if currency not in _CURRENCIES.split():
            raise AccountError(
                f"{currency!r} is not an ISO 4217 code. Use one in capital letters, such as USD."
            )
        try:
            await self._state.write(
                "INSERT INTO partners (id, name, currency) VALUES (?, ?, ?)",
                partner_id,
                name,
                currency,
            )
        # The database decides, since another process may add the same between a check and the
        # insert.
        except sqlite3.IntegrityError as error:
            raise AccountError(
                f"Partner {partner_id!r} already exists. Use it, or choose another id."
            ) from error
        return await self.partner(partner_id)

    async def partner(self, partner_id: str) -> Partner:
        """Return a partner by its id, or raise ``AccountError``."""
        row = await self._state.row("SELECT * FROM partners WHERE id = ?", partner_id)
        if row is None:
            ids = ", ".join(partner.id for partner in (await self.partners())[:10])
            raise AccountError(f"Unknown partner {partner_id!r}. Known partners: {ids or 'none'}.")
        return Partner(*row)

    async def partners(self) -> list[Partner]:
        rows = await self._state.rows("SELECT * FROM partners ORDER BY id")
        return [Partner(*row) for row in rows]

    async def partners_of(self, user: User) -> list[Partner]:
        """List the partners that a user may read, by id."""
        if user.role == "admin":
            return await self.partners()
        rows = await self._state.rows(
            "SELECT partners.* FROM partners JOIN user_partners"
            " ON user_partners.partner = partners.number WHERE user_partners.user = ?"
            " ORDER BY partners.id",
            user.number,
        )
        return [Partner(*row) for row in rows]

    async def add_user(
        self, email: str, *, password: str, role: Role, partners: tuple[str, ...] = ()
    ) -> User:
        """Add a user and link it to partners.

        Raises:
            AccountError: the e-mail is taken or invalid, the password is shorter than
                ``SHORTEST_PASSWORD``, or a partner does not exist.
        """
        if len(password) < SHORTEST_PASSWORD:
            raise AccountError(f"The password must have at least {SHORTEST_PASSWORD} characters.")
        password_hash = await asyncio.to_thread(hash_password, password)
        return await self.add_user_with_hash(
            email, password_hash=password_hash, role=role, partners=partners
        )

    async def add_user_with_hash(
        self, email: str, *, password_hash: str, role: Role, partners: tuple[str, ...] = ()
    ) -> User:
        """Add a user whose password ``hash_password`` has already hashed.

        Raises:
            AccountError: as ``add_user``.
        """
        if not _EMAIL.fullmatch(email):
            raise AccountError(f"{email!r} is not an e-mail address. Write it as name@host.")
        if role != "admin" and not partners:
            raise AccountError(f"A user with role {role} needs at least one partner to read.")
        numbers = [(await self.partner(partner)).number for partner in partners]
        try:
            async with self._state.writing() as connection:
                cursor = await connection.execute(
                    "INSERT INTO users (email, role, password_hash, created_at)"
                    " VALUES (?, ?, ?, ?)",
                    (email.lower(), role, password_hash, self._clock.milliseconds()),
                )
                await connection.executemany(
                    "INSERT OR IGNORE INTO user_partners VALUES (?, ?)",
                    [(cursor.lastrowid, number) for number in numbers],
                )
        except sqlite3.IntegrityError as error:
            raise AccountError(
                f"User {email!r} already exists. Choose another e-mail, or delete that user first."
            ) from error
        return await self.user_by_email(email)

    async def user_by_email(self, email: str) -> User:
        """Return a user by case-insensitive e-mail, or raise ``AccountError``."""
        row = await self._state.row(f"{_USERS} WHERE email = ?", email.lower())
        if row is None:
            emails = ", ".join(user.email for user in (await self.users())[:10])
            raise AccountError(f"Unknown user {email!r}. Known users: {emails or 'none'}.")
        return User(*row)

    async def user(self, number: int) -> User | None:
        """Return a user by number, or ``None`` if it was deleted."""
        row = await self._state.row(f"{_USERS} WHERE number = ?", number)
        return None if row is None else User(*row)

    async def users(self) -> list[User]:
        return [User(*row) for row in await self._state.rows(f"{_USERS} ORDER BY email")]

    async def delete_user(self, email: str) -> None:
        """Delete a user and the keys it made, or raise ``AccountError``."""
        user = await self.user_by_email(email)
        await self._state.write("DELETE FROM users WHERE number = ?", user.number)

    async def sign_in(self, email: str, password: str) -> User | None:
        """Return the user that an e-mail and a password belong to, or ``None``."""
        row = await self._state.row("SELECT * FROM users WHERE email = ?", email.lower())
        password_hash = None if row is None else row["password_hash"]
        if not await asyncio.to_thread(password_matches, password, password_hash) or row is None:
            return None
        return User(row["number"], row["email"], row["role"])


def check_name(name: str) -> None:
    """Raise ``AccountError`` if a name is not printable text."""
    if _NOT_IN_NAMES.search(name):
        raise AccountError(f"Invalid name {name!r}. Write it as UTF-8 text.")
