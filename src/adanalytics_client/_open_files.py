"""Whether a process may have so many more files open."""

import resource
from pathlib import Path

from adanalytics_client.errors import ConfigurationError

# For connections, for a note that is being written, and for what else the program opens meanwhile.
_SPARE = 16


def check_open_files(count: int) -> None:
    """See that so many files of an export can be open at once, before any of them is fetched.

    Each is kept open, and with that locked, until all are there.

    Raises:
        ConfigurationError: when there are more than the process may open.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _open_now() + count + _SPARE
    if most == resource.RLIM_INFINITY or needed <= most:
        return
    raise ConfigurationError(
        f"The export has {count} files, which stay open until all have arrived, and this process "
        f"may have {most} open. Start it after `ulimit -n {needed}`, or ask for fewer days at once."
    )


def _open_now() -> int:
    try:
        return len(list(Path("/dev/fd").iterdir()))
    except OSError:
        # Without such a folder the files themselves are what is known.
        return 0
