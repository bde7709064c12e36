"""What a client hands to the objects that stand on it: queries, exports, datasets and Spark."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from adanalytics_client._call.session import Session

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Connection(Generic[D]):
    """The session and the driver of a client.

    Attributes:
        session: the settings and the shared state of all operations.
        driver: runs the operations, with threads or with tasks.
    """

    session: Session
    driver: D
