"""Credentials: password hashes, API keys and signed tokens.

Passwords are hashed with argon2id and OWASP's minimum parameters (19 MiB, two passes, one lane).
API keys are 256 random bits, so a plain SHA-256 is enough.
"""

import hashlib
import re

import jwt
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adanalytics_server.clock import Clock

API_KEY_PREFIX = "aak_"
TOKEN_LIFETIME = 7 * 86_400
# Misplaced keys and tokens, for example in a path. Every token begins with "eyJ": base64 of '{"'.
_IN_TEXT = re.compile(rf"{API_KEY_PREFIX}[\w-]*|eyJ[\w-]+\.[\w-]+\.[\w-]*")

_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Verified for unknown e-mails, so that they take as long as a wrong password.
_DUMMY_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
_AUDIENCE = "adanalytics-api"
# Up to 18 digits, so that the number fits in SQLite's 64 bits.
_USER_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


# Slow on purpose, so call it in a thread.
hash_password = _HASHER.hash


def password_matches(password: str, password_hash: str | None) -> bool:
    """Check a password with constant effort; ``None`` means that the account does not exist."""
    try:
        # An unknown address takes as long as a wrong password, so nobody finds out which exist.
        _HASHER.verify(password_hash or _DUMMY_HASH, password)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


def api_key_digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def hide_credentials(text: str, *, mark: str) -> str:
    """Replace all keys and tokens in a text with ``mark``."""
    return _IN_TEXT.sub(mark, text)


class Tokens:
    """Issues and reads the JWTs of a login, by the application's clock.

    The library's own time checks are off, because they read the machine's clock.
    """

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock

    def issue(self, user: int) -> str:
        """Sign a token for a user number; it is valid for seven days."""
        now = self._clock.milliseconds() // 1000
        claims = {"sub": str(user), "aud": _AUDIENCE, "iat": now, "exp": now + TOKEN_LIFETIME}
        return jwt.encode(claims, self._secret, algorithm="HS256")

    def user_of(self, token: str) -> int | None:
        """Return the user number of a token, or ``None`` when it is invalid or expired."""
        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=["HS256"],  # literal, so that no token can choose another
                audience=_AUDIENCE,
                options={
                    "require": ["sub", "aud", "iat", "exp"],
                    "verify_exp": False,
                    "verify_iat": False,
                },
            )
            if self._clock.milliseconds() >= int(claims["exp"]) * 1000:
                return None
            # int() would also accept " 1", "1_0" and the digits of other scripts.
            number = _USER_NUMBER.fullmatch(claims["sub"])
        except (jwt.InvalidTokenError, ValueError, TypeError):
            return None
        return int(number[0]) if number else None
