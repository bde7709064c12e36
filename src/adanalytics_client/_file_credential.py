"""Whether the client's credential goes with the request for a file, which only trying tells."""

from dataclasses import dataclass

from adanalytics_client._effects import Reply
from adanalytics_client._exchange import Exchanged
from adanalytics_client._problems import Problem
from adanalytics_client._url import BaseUrl
from adanalytics_client.errors import ExportExpired


@dataclass(slots=True)
class FileCredential:
    """How one file of an export is asked for; each way is tried at most once.

    The credential stays away at first, since a signed address may refuse one. An address on the
    base origin gets it after a 401, and where that redirects within the origin, the address behind
    it only after another 401. A 400 in answer to it says that the address is signed: then it stays
    away for good, and another 401 means that the signature is refused.

    Args:
        base: the service.
        url: where the file is.

    Attributes:
        goes: whether it goes with the next request.
        carried: whether it goes to where that redirects, too.
    """

    base: BaseUrl
    url: str
    goes: bool = False
    carried: bool = False
    unwanted: bool = False

    def changed(self, done: Exchanged) -> bool:
        """Whether an answer is a reason to ask at once in another way."""
        status = self._status(done)
        if status == 400 and self.goes:
            self.goes, self.carried, self.unwanted = False, False, True
        elif status != 401 or self.unwanted:
            return False
        elif not self.goes:
            self.goes = True
        elif not self.carried and done.url != self.url:
            self.carried = True
        else:
            return False
        return True

    def refused(self, done: Exchanged) -> Problem | None:
        """The problem of an address that is refused with the credential and without."""
        if not self.unwanted or self._status(done) != 401:
            return None
        error = ExportExpired(
            "The address of the file is refused (401), and takes no credential (400); "
            "it has probably expired. Start the export again."
        )
        return Problem(error, again=False)

    def _status(self, done: Exchanged) -> int | None:
        """The status of an answer of the base origin; others are never shown the credential."""
        home = self.base.owns(self.url) and self.base.owns(done.url)
        return done.outcome.status if home and isinstance(done.outcome, Reply) else None
