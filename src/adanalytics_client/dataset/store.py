"""The storage of a dataset: files by name below a root, on this machine or elsewhere."""

from pathlib import Path

from adanalytics_client.dataset.local_store import LocalStore
from adanalytics_client.dataset.object_store import ObjectStore, open_object_store
from adanalytics_client.errors import UnsuitablePlace

Store = LocalStore | ObjectStore
"""A file appears whole or not at all, in one step; both kinds have the same methods."""


def open_store(place: str) -> Store:
    """Open a folder, or an fsspec address such as `s3://bucket/events`.

    Raises:
        DatasetError: when the address needs a library that is not installed.
        UnsuitablePlace: for a place that cannot hold a dataset.
    """
    if not place:
        raise UnsuitablePlace(
            "The place of the dataset is empty.", remedy="Name a folder or an address."
        )
    try:
        place.encode()
    except UnicodeEncodeError:
        raise UnsuitablePlace(
            "The name of the dataset is not UTF-8 text, which its readers need.",
            remedy="Name it in UTF-8, or in ASCII alone.",
        ) from None
    if "://" not in place or place.startswith("file://"):
        root = Path(place.removeprefix("file://"))
        if root.exists() and not root.is_dir():
            raise UnsuitablePlace(
                f"{place} is a file.", remedy="A dataset is a folder: name another."
            )
        return LocalStore(root, place)
    return open_object_store(place)
