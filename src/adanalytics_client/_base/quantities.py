"""Numbers of things, written for people."""


def counted(number: int, thing: str) -> str:
    """Write a number of things, whose plural ends in s.

    >>> counted(1, "request"), counted(1200, "event")
    ('1 request', '1,200 events')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
