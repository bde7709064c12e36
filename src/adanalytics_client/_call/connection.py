"""What a client hands to the objects that stand on it: queries, exports, datasets and Spark."""

from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

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

    def with_session(self, session: Session) -> Self:
        """Return the same driver with another session."""
        return replace(self, session=session)

    def with_driver(self, driver: D) -> Self:
        """Return the same session with another driver, such as a branch of this one."""
        return replace(self, driver=driver)
