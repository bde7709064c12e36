"""The loop over all objects of a page: in C where that was compiled, else in Python."""

_BRACE, _LINE_BREAK = b"}\n"


def in_python(text: bytearray, at: int, end: bytes, comma: int, most: int) -> tuple[int, int]:
    """Put line breaks behind objects for as long as they end in the same way.

    Args:
        text: a document, changed in place.
        at: a place in an object, in front of its first closing brace.
        end: how objects end and the next ones begin: that brace and at least one character more.
        comma: which character of `end` turns into a line break.
        most: objects after which to stop.

    Returns:
        Where to go on, and how many line breaks were put: where fewer than `most`, that is the
        first closing brace of the object that ends in another way, or the end of the text.

    Example:
        >>> text = bytearray(b'{"id":1},{"id":2},{"id":3}]')
        >>> in_python(text, 0, b'},{"id":', 1, 10), text
        ((25, 2), bytearray(b'{"id":1}\\n{"id":2}\\n{"id":3}]'))
    """
    find, begins, size = text.find, text.startswith, len(end)
    for done in range(most):
        # Ten thousand times a page: every call in here is felt.
        if not begins(end, at := find(_BRACE, at)):
            return (at if at >= 0 else len(text)), done
        text[at + comma] = _LINE_BREAK
        at += size
    return at, most


try:
    from adanalytics_client._speedups import break_lines as _compiled
except ImportError:
    break_lines = in_python
else:
    break_lines = _compiled
