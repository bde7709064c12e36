"""What a dataset is a copy of, and in which form; fixed by its first sync."""

from dataclasses import asdict, dataclass
from typing import Self, cast

from adanalytics_cli.errors import CommandError, DatasetDamaged
from adanalytics_cli.sync.layout import IDENTITY, PartFormat
from adanalytics_cli.sync.sealed import seal, unseal
from adanalytics_cli.sync.store import Store, as_failure

_LAYOUT = 1
_FORMS = ("parquet", "jsonl", "csv")


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose events, from which service, in which form of file."""

    partner: str
    origin: str
    form: PartFormat

    @classmethod
    def read(cls, store: Store) -> Self | None:
        """What the dataset says it is, or None where there is none yet.

        Raises DatasetDamaged when it does not say.
        """
        content = store.read(IDENTITY)
        if content is None:
            return None
        try:
            told = unseal(content)
            form = cast("PartFormat", _FORMS[_FORMS.index(told["form"])])
            return cls(str(told["partner"]), str(told["origin"]), form)
        except (KeyError, ValueError) as error:
            raise DatasetDamaged(
                f"{store.place}/{IDENTITY} is damaged: {error}",
                remedy="Delete this one file; the next sync writes it again and keeps the data.",
            ) from None

    def write(self, store: Store) -> None:
        """Fix it for all later runs."""
        with as_failure(store.place):
            store.write(IDENTITY, seal({"layout": _LAYOUT, **asdict(self)}))


def settle_identity(
    store: Store, *, partner: str, origin: str, form: PartFormat | None
) -> Identity:
    """The identity of the dataset, which this run must share; a new dataset gets it.

    `form` None takes that of the dataset, and parquet for a new one. Raises CommandError when
    the dataset is a copy of something else.
    """
    known = Identity.read(store)
    if known is None:
        fresh = Identity(partner, origin, form or "parquet")
        fresh.write(store)
        return fresh
    wanted = Identity(partner, origin, form or known.form)
    for what, mine, theirs in (
        ("partner", wanted.partner, known.partner),
        ("service", wanted.origin, known.origin),
        ("format", wanted.form, known.form),
    ):
        if mine != theirs:
            raise CommandError(
                f"{store.place} is a dataset of {what} {theirs}, not {mine}",
                remedy="Give --to another folder, or use the settings of this one.",
            )
    return known
