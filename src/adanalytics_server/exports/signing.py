"""Signed, expiring URLs of export files, like those of an object store."""

import hashlib
import hmac
from urllib.parse import urlencode


class Signer:
    """Signs the path of a file until a time (seconds since 1970), and checks signatures."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def query(self, path: str, *, expires: int) -> str:
        """Return the query string that opens ``path`` until ``expires``."""
        return urlencode({"expires": expires, "signature": self._signature(path, expires)})

    def opens(self, path: str, *, expires: str, signature: str, now: int) -> bool:
        """Return whether a query string opens ``path`` at the second ``now``."""
        if not (expires.isascii() and expires.isdecimal() and len(expires) <= 12):
            return False
        expected = self._signature(path, int(expires))
        genuine = hmac.compare_digest(expected.encode(), signature.encode())
        return genuine and now < int(expires)

    def _signature(self, path: str, expires: int) -> str:
        return hmac.new(self._secret, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
