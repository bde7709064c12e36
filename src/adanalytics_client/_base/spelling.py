"""One spelling for names that services write as camelCase, snake_case or kebab-case."""


def fold(name: str) -> str:
    """Return the letters and digits of a name, in lower case.

    Examples:
        >>> fold("eventTime") == fold("event_time")
        True
    """
    return "".join(filter(str.isalnum, name.lower()))
