"""What all errors have in common; the tree of them is in `errors`."""


class AdAnalyticsError(Exception):
    """The base of every error here; catch it to catch them all.

    Attributes:
        message: what happened and what to do.
        request_id: the service's `X-Request-Id` of the last answer, for its support.
        attempts: how many times the request was sent; 0 when nothing was.
        url: the address asked, without the values of a signed query.

    Example:
        >>> str(AdAnalyticsError("It broke.", request_id="r-1", attempts=2))
        'It broke. (request id r-1, 2 attempts)'
    """

    def __init__(
        self,
        message: str,
        *,
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        # Half a surrogate pair, which JSON may hold, would keep the error from being printed.
        self.message = message.encode("utf-8", "backslashreplace").decode()
        super().__init__(self.message)
        self.request_id = request_id
        self.attempts = attempts
        self.url = url

    def __str__(self) -> str:
        facts = [
            f"request id {self.request_id}" if self.request_id else "",
            f"{self.attempts} attempts" if self.attempts > 1 else "",
            self.url or "",
        ]
        told = ", ".join(fact for fact in facts if fact)
        return f"{self.message} ({told})" if told else self.message
