"""What a file of an export is called in the note beside its part, so that a later run knows it."""

import hashlib
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._validator import is_etag

# Parameters that signing anew changes and that choose no file: of S3, Google and Azure, and what
# others call theirs.
_SIGNATURES = frozenset(
    {"sig", "signature", "expires", "expiry", "exp", "st", "se", "skt", "ske", "awsaccesskeyid"}
)
_SIGNATURE_FAMILIES = ("x-amz-", "x-goog-")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of one order, as digests: a signed address is a secret.

    Attributes:
        exact: of the export's id, else of the whole address.
        resigned: of the export's id, else of the address without its signature.
    """

    exact: str
    resigned: str

    @classmethod
    def of(cls, place: str, order: ExportOrder, status: ExportStatus, number: int) -> "Source":
        """The name of file `number` of an export that was ordered at the address `place`."""
        begin = f"{place}\n{order.body().decode()}\n{number}\n"
        if status.export_id is not None:
            named = _digest(f"{begin}id {status.export_id}")
            return cls(named, named)
        url = status.files[number].url
        parts = urlsplit(url)
        unsigned = f"{parts.scheme}://{parts.netloc}{path_of(url)}"
        return cls(_digest(f"{begin}address {url}"), _digest(f"{begin}file {unsigned}"))

    def under(self, validator: str) -> str:
        """The name in a note: a date says too little of a file whose address was signed anew."""
        return self.resigned if is_etag(validator) else self.exact


def path_of(url: str) -> str:
    """What an address says of a file beside its host: the path and the unsigned parameters."""
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _signs(pair[0])]
    return f"{parts.path} {kept}"


def _signs(name: str) -> bool:
    folded = name.lower()
    return folded in _SIGNATURES or folded.startswith(_SIGNATURE_FAMILIES)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
