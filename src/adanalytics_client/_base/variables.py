"""The variables of the environment that stand in for arguments of a client."""

import os

# The value of a variable that is not set. The plugin for pytest sets them, so that a mocked client
# neither waits for an hour nor leaves its count of requests in the user's home.
FALLBACKS: dict[str, str] = {}


def variable(name: str) -> str | None:
    """Return the value of a variable, which is its fallback if it is empty or not set."""
    return os.environ.get(name) or FALLBACKS.get(name)
