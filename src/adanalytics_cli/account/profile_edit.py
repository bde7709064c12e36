"""Change one profile in the settings file and keep everything else, also comments."""

from collections.abc import Mapping
from pathlib import Path

from adanalytics_cli.core.files import replacing
from adanalytics_client._base.files import make_folder


def write_profile(path: Path, name: str, values: Mapping[str, str]) -> None:
    """Set the keys of `[profile.NAME]` in the file `path`, which is replaced at once or not at all.

    A file that has these values already is not written.
    """
    # Only a login needs it, so no other command pays for its import.
    import tomlkit

    try:
        # Bytes, because reading as text would turn CR LF into LF.
        before = path.read_bytes().decode()
    except FileNotFoundError:
        before = ""
    document = tomlkit.parse(before)
    profiles = document.setdefault("profile", tomlkit.table(is_super_table=True))
    profiles.setdefault(name, tomlkit.table()).update(values)
    after = tomlkit.dumps(document)
    if after == before:
        return
    make_folder(path.parent)
    with replacing(path) as stream:
        stream.write(after.encode())
