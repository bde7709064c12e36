"""Numbers, sizes and durations, written for people."""

_UNITS = ("B", "kB", "MB", "GB", "TB")


def counted(number: int, noun: str) -> str:
    """Write a number with its noun; the plural adds an s.

    >>> counted(1, "request"), counted(1200, "event")
    ('1 request', '1,200 events')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def in_bytes(size: int) -> str:
    """Write a size with three digits, in powers of 1,000."""
    if size < 1000:
        return f"{size} B"
    amount, power = float(size), 0
    # 999.5 would be shown as 1,000 of the smaller unit.
    while amount >= 999.5 and power < len(_UNITS) - 1:
        amount, power = amount / 1000, power + 1
    digits = 2 if amount < 10 else 1 if amount < 100 else 0
    return f"{amount:.{digits}f} {_UNITS[power]}"


def in_minutes(seconds: float) -> str:
    """Write a duration as a clock shows it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
