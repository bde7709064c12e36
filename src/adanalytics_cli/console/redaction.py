"""Keep secrets out of everything that is printed."""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"
# A shorter secret occurs in ordinary words, of which nothing would be left.
_SHORTEST = 4
# A credential can also reach a message through a header dump, a JSON body or a URL.
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]+")
_API_KEY = re.compile(r"\baak_[\w-]+")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_PASSWORD = re.compile(r"""(?i)(["']?password["']?\s*[:=]\s*)(["']).*?\2""")


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` without the given values and without anything shaped like a credential."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    text = _USER_INFO.sub(f"{HIDDEN}@", text)
    text = _API_KEY.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\g<1>{HIDDEN}", text)
    return _PASSWORD.sub(rf"\g<1>\g<2>{HIDDEN}\g<2>", text)
