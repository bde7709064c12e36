"""Names as they are compared, whichever way a service spells them."""


def fold(name: str) -> str:
    """One spelling for camelCase, snake_case and kebab-case.

    Example:
        >>> fold("hasMore") == fold("has_more") == fold("Has-More")
        True
    """
    return "".join(each for each in name.lower() if each.isalnum())
