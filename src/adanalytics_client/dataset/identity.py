"""What a dataset is a copy of, and in which form; fixed by its first sync."""

import shlex
from dataclasses import asdict, dataclass
from typing import Self, cast

from adanalytics_client.dataset.checksummed_json import seal, unseal
from adanalytics_client.dataset.empty_part import lay_empty_part
from adanalytics_client.dataset.layout import DATA, IDENTITY, OURS, PartFormat
from adanalytics_client.dataset.store import Store, as_failure
from adanalytics_client.errors import DatasetDamaged, DatasetError, UnsuitablePlace

_LAYOUT = 1
# The root of a file system has it from the beginning.
_NOBODYS = frozenset({"lost+found"})
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


def check_place(store: Store) -> None:
    """See that a dataset is there, or may be made there; nothing is written.

    Raises UnsuitablePlace for a place with the files of others: their parts would be read with
    ours, and what nobody committed is taken away by a sync.
    """
    names = store.names()
    others = sorted(name for name in names if name[0] != "." and name not in _NOBODYS)
    if OURS in names or not others:
        return
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    raise UnsuitablePlace(
        f"{store.place} is no dataset and holds {others[0]}{more}",
        remedy="Name a new or an empty folder, such as "
        f"--to {shlex.quote(store.place.rstrip('/') + '/events')}",
    )


def settle_identity(
    store: Store, *, partner: str, origin: str, form: PartFormat | None
) -> Identity:
    """The identity of the dataset, which this run must share; a new dataset gets it.

    `form` None takes that of the dataset, and parquet for a new one. Raises DatasetError when
    the dataset is a copy of something else.
    """
    known = Identity.read(store)
    if known is None:
        fresh = Identity(partner, origin, form or "parquet")
        if not store.sizes(DATA):
            lay_empty_part(store, fresh.form)
        fresh.write(store)
        return fresh
    wanted = Identity(partner, origin, form or known.form)
    for what, mine, theirs in (
        ("partner", wanted.partner, known.partner),
        ("service", wanted.origin, known.origin),
        ("format", wanted.form, known.form),
    ):
        if mine != theirs:
            raise DatasetError(
                f"{store.place} is a dataset of {what} {theirs}, not {mine}",
                remedy="Give --to another folder, or use the settings of this one.",
            )
    return known
