"""Where the log of sends lives: in a file that all processes of a person share, or in memory."""

import fcntl
import logging
import os
import stat
from collections.abc import Callable, Mapping
from errno import EMFILE, ENFILE, ENOMEM, ENOSPC, ESTALE
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

from adanalytics_client._config import Config, Login
from adanalytics_client._quota_log import Blocks, Store
from adanalytics_client.errors import ConfigurationError, TransportError

T = TypeVar("T")

QuotaLog = Literal["shared", "memory"] | os.PathLike[str]
"""Where a client keeps its log of sends."""

_LOG = logging.getLogger("adanalytics_client")

# What says nothing about the place: the next try may well succeed.
_PASSING = frozenset({EMFILE, ENFILE, ENOMEM, ESTALE})

# O_NOFOLLOW: whoever may write to the folder could else lead us to write elsewhere.
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_store(where: QuotaLog, config: Config, environment: Mapping[str, str]) -> Store:
    """The place of the log of a client's key; nothing is read or written yet.

    Args:
        where: `shared` is `$XDG_STATE_HOME/adanalytics/quota`, by default below
            `~/.local/state`; `memory` is this client alone; a path is a folder.
        config: names the service and the credential.
        environment: where XDG_STATE_HOME is looked up.

    Raises:
        ConfigurationError: for anything else.
    """
    if where == "memory":
        return MemoryStore()
    if where == "shared":
        folder = _state_home(environment)
        if folder is None:
            _LOG.warning("no home folder is known; requests are counted by this client alone")
            return MemoryStore()
        return FileStore(folder / "adanalytics" / "quota" / log_name(config))
    if isinstance(where, os.PathLike):
        return FileStore(Path(where).absolute() / log_name(config))
    raise ConfigurationError(
        f"quota_log={where!r}: choose 'shared' or 'memory', or pass the Path of a folder."
    )


def log_name(config: Config) -> str:
    """The file name of a key's log, from which nobody learns the key.

    The service counts by key, so the partner is no part of it.
    """
    scheme, host, port = config.base.origin
    credential = config.credential
    if isinstance(credential, Login):
        identity = f"login {credential.email.strip().lower()}"
    else:
        identity = f"bearer {credential.secret.reveal()}"
    told = f"adanalytics quota\n{scheme}://{host}:{port}\n{identity}"
    return f"{sha256(told.encode()).hexdigest()[:32]}.log"


class MemoryStore:
    """A log in memory, gone with the client; `Atomic` keeps actions apart."""

    name = "in memory"

    def __init__(self, content: bytes = b"") -> None:
        self._content = bytearray(content)

    def run(self, action: Callable[[Blocks], T]) -> T:
        """Run an action."""
        return action(self)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes, or all of them with -1."""
        return bytes(self._content[offset : len(self._content) if size < 0 else offset + size])

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes in their place."""
        self._content.extend(bytes(max(0, offset - len(self._content))))
        self._content[offset : offset + len(data)] = data

    def replace(self, content: bytes) -> None:
        """Put other content in the place of all of it."""
        self._content[:] = content


class FileStore:
    """A log in a file, locked for the few microseconds of an action.

    Nothing is synced to the disk: what a process wrote survives its own death at once, and only a
    power cut may take the last seconds of it, as long as a restart takes anyway.

    A file that cannot be written is given up for memory, with what it holds as far as it is known.
    A failure that may pass is an error instead: who counted alone for good would exceed the limit.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._file: _OpenFile | None = None
        self._memory: MemoryStore | None = None

    def run(self, action: Callable[[Blocks], T]) -> T:
        """Run an action under the lock.

        Raises:
            TransportError: when the file cannot be opened for the moment.
        """
        if self._memory is None:
            try:
                return self._run(action)
            except OSError as error:
                if error.errno in _PASSING:
                    self._file = None
                    raise TransportError(
                        f"The quota log {self.name} cannot be used for the moment: "
                        f"{error.strerror}. So nothing is sent; close files, or try later."
                    ) from None
                self._memory = MemoryStore(_read_all(self._path))
                _LOG.warning(
                    "the quota log %s cannot be used (%s); requests are counted by this client "
                    "alone, others that use the same key do not see them",
                    self.name,
                    error.strerror or type(error).__name__,
                )
        return self._memory.run(action)

    def _run(self, action: Callable[[Blocks], T]) -> T:
        while True:
            file = self._file
            if file is None or file.process != os.getpid():
                file = self._file = _OpenFile(self._path)
            with file:
                # Before it was locked, another may have put a new file in its place.
                if file.is_current():
                    return action(file)
            self._file = None


class _OpenFile:
    """An open file, ours alone within a `with` block; it closes when nothing uses it any more.

    A lock belongs to what one `open` opened, and a forked child has that in common with its parent.
    So `process` says whose it is, and the child opens the file anew.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.process = os.getpid()
        self._path = path
        self._number = -1
        self._number = _opened(path)
        self._identity = _identity_of(self._number)

    def __del__(self) -> None:
        if self._number >= 0:
            os.close(self._number)

    def __enter__(self) -> None:
        fcntl.flock(self._number, fcntl.LOCK_EX)

    def __exit__(self, *_error: object) -> None:
        fcntl.flock(self._number, fcntl.LOCK_UN)

    def is_current(self) -> bool:
        """Whether it is still the one of this name; a backup may have given it others."""
        try:
            named = self._path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            # Who may no longer look there still has what he opened.
            return True
        return (named.st_dev, named.st_ino) == self._identity

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes, or all of them with -1."""
        if size < 0:
            size = max(0, os.fstat(self._number).st_size - offset)
        return os.pread(self._number, size, offset)

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes in their place."""
        if os.pwrite(self._number, data, offset) < len(data):
            raise OSError(ENOSPC, os.strerror(ENOSPC))

    def replace(self, content: bytes) -> None:
        """Nobody else can hold the new file before it has the name, so its lock is free."""
        beside = self._path.with_suffix(".new")
        new = os.open(beside, _OPEN | os.O_TRUNC, 0o600)
        try:
            fcntl.flock(new, fcntl.LOCK_EX)
            if os.pwrite(new, content, 0) < len(content):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            beside.replace(self._path)
            os.dup2(new, self._number, inheritable=False)
            self._identity = _identity_of(new)
        finally:
            os.close(new)


def _identity_of(number: int) -> tuple[int, int]:
    found = os.fstat(number)
    return found.st_dev, found.st_ino


def _opened(path: Path) -> int:
    try:
        number = os.open(path, _OPEN, 0o600)
    except FileNotFoundError:
        for folder in reversed((path.parent, *path.parent.parents)):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, _OPEN, 0o600)
    found = os.fstat(number)
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        # Not as we made it: a copy from a backup, say.
        os.fchmod(number, 0o600)
    return number


def _read_all(path: Path) -> bytes:
    """What a file holds that cannot be written; nothing of a pipe, which would keep us waiting."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else b""
    except OSError:
        return b""


def _state_home(environment: Mapping[str, str]) -> Path | None:
    """As the XDG base directory specification has it; a relative path there is ignored."""
    configured = Path(environment.get("XDG_STATE_HOME", ""))
    if configured.is_absolute():
        return configured
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:
        return None
