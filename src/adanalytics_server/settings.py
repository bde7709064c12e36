"""What a server is started with: one frozen value, handed down, never global."""

from dataclasses import dataclass
from pathlib import Path

from adanalytics_server.answers import REFERENCE, Answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one server.

    Attributes:
        data: folder with ``state.db`` and one numbered folder per partner; made when missing.
        rate_limit: requests per API key in any 3,600 s on the Partner API; 0 switches it off.
        login_rate_limit: the same for requests with a JWT; 0, the default, switches it off.
        export_inline_max: rows up to which a bulk export is finished within its request.
        export_lifetime: seconds that a finished export can be downloaded.
        loose: let unknown query parameters pass instead of answering 400.
        any_host: answer whatever name the ``Host`` header has, for a server that others reach by
            name; else only localhost and addresses.
        test_controls: offer ``/_control/*`` to move the clock, to arm faults and to reset; for
            tests only, because it asks for no credential.
        dialect: the shapes of the answers where the public description leaves them open.

    Raises:
        ValueError: a number is negative.
    """

    data: Path
    rate_limit: int = 1000
    login_rate_limit: int = 0
    export_inline_max: int = 50_000
    export_lifetime: int = 86_400
    loose: bool = False
    any_host: bool = False
    test_controls: bool = False
    dialect: Answers = REFERENCE

    def __post_init__(self) -> None:
        """Refuse what no server can keep to."""
        for name in ("rate_limit", "login_rate_limit", "export_inline_max", "export_lifetime"):
            if (number := getattr(self, name)) < 0:
                raise ValueError(f"{name}={number}: pass a whole number, 0 or more")
