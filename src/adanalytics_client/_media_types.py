"""What the media type of a body tells of it."""


def is_page(kind: str) -> bool:
    """Whether a media type is that of an answer.

    Example:
        >>> is_page("application/problem+json"), is_page("text/csv")
        (True, False)
    """
    return is_json(kind) or kind == "text/html"


def is_json(kind: str) -> bool:
    """Whether a media type is that of one JSON document.

    Example:
        >>> is_json("application/json"), is_json("application/x-ndjson")
        (True, False)
    """
    return kind in {"application/json", "text/json"} or kind.endswith("+json")
