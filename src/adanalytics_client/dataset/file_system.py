"""What is asked of a file system of fsspec, which brings no types along."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, Literal, Protocol


class FileSystem(Protocol):
    """The methods of `fsspec.AbstractFileSystem` that a dataset in object storage needs.

    All take a path without the kind of storage in front, and raise whatever its library raises.
    """

    def cat_file(self, path: str) -> bytes:
        """The content of an object; FileNotFoundError when there is none."""

    def open(self, path: str, mode: Literal["rb"]) -> BinaryIO:
        """A stream of an object."""

    def pipe_file(
        self, path: str, value: bytes, mode: Literal["overwrite", "create"] = "overwrite"
    ) -> object:
        """Put an object; `create` raises FileExistsError where there is one."""

    def put_file(self, lpath: str, rpath: str) -> object:
        """Put the content of a file of this machine."""

    def rm_file(self, path: str) -> object:
        """Take an object away."""

    def exists(self, path: str) -> bool:
        """Whether there is such an object."""

    def ls(self, path: str, *, detail: Literal[False]) -> Sequence[str]:
        """The names in a folder."""

    def find(self, path: str, *, detail: Literal[True]) -> Mapping[str, Mapping[str, int]]:
        """All objects below a folder, each with its `size` among others."""
