"""Partners and users, their credentials, and how often each credential may ask."""

from adanalytics_server.accounts.api_keys import LONGEST_KEY_NAME, ApiKey, ApiKeys
from adanalytics_server.accounts.auth import (
    MOST_WRONG,
    SIGN_IN_WINDOW_SECONDS,
    Authenticator,
    Caller,
    SignIns,
    TooManyAttempts,
)
from adanalytics_server.accounts.credentials import (
    TOKEN_LIFETIME,
    Tokens,
    hash_password,
    hide_credentials,
)
from adanalytics_server.accounts.people import AccountError, Accounts, Partner, Role, User
from adanalytics_server.accounts.ratelimit import WINDOW_SECONDS, Allowance, RateLimiter

__all__ = [
    "LONGEST_KEY_NAME",
    "MOST_WRONG",
    "SIGN_IN_WINDOW_SECONDS",
    "TOKEN_LIFETIME",
    "WINDOW_SECONDS",
    "AccountError",
    "Accounts",
    "Allowance",
    "ApiKey",
    "ApiKeys",
    "Authenticator",
    "Caller",
    "Partner",
    "RateLimiter",
    "Role",
    "SignIns",
    "Tokens",
    "TooManyAttempts",
    "User",
    "hash_password",
    "hide_credentials",
]
