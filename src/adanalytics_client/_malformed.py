"""What is wrong with an answer that is no proper one of HTTP, in plain words instead of h11's."""

import re

_PLAIN = (
    ("illegal status line", "it begins otherwise than HTTP"),
    ("illegal request line", "it begins otherwise than HTTP"),
    ("no response line", "it begins otherwise than HTTP"),
    ("Receive buffer too long", "its head, or what frames its body, is longer than 100 KiB"),
    ("conflicting Content-Length", "its Content-Length headers contradict each other"),
    ("bad Content-Length", "its Content-Length is no length"),
    ("illegal header line", "a line among its headers is no header"),
    ("continuation line", "a line among its headers is no header"),
    ("InformationalResponse status_code", "its status is below 100"),
    ("Received server _SWITCH_UPGRADE", "it changes to another protocol unasked (101)"),
    ("Only Transfer-Encoding", "its Transfer-Encoding is not chunked"),
    ("multiple Transfer-Encoding", "its Transfer-Encoding came several times"),
    ("illegal chunk header", "its chunks are damaged"),
    ("malformed chunk footer", "its chunks are damaged"),
)

# A short first word names a program, as `SSH-2.0-OpenSSH` does; anything longer is not shown, and
# nothing is cut: it might be the half of a secret.
_FIRST_WORD = re.compile(r"status line: bytearray\(b['\"](?P<word>[\w./-]{1,30})(?=[ \\'\"])")


def malformed(told: str) -> str | None:
    """What the words of a protocol error mean; None where they tell of no damage but of an end.

    Example:
        >>> malformed("illegal status line: bytearray(b'SSH-2.0-OpenSSH')")
        "it begins otherwise than HTTP, with 'SSH-2.0-OpenSSH'"
    """
    for theirs, plain in _PLAIN:
        if told.startswith(theirs):
            word = _FIRST_WORD.search(told)
            return f"{plain}, with {word['word']!r}" if word else plain
    return None
