"""`adanalytics doctor --probe`: ask the service what it is, and write it down."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.account.quota import QuotaCheck
from adanalytics_cli.console.prompts import can_ask
from adanalytics_cli.console.terminal import print_finding
from adanalytics_cli.core.errors import CommandError, ProblemsFound
from adanalytics_cli.core.files import naming, replacing
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.core.settings import find_settings, profiles_of, write_profile
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.files import make_folder
from adanalytics_client._base.quantities import counted
from adanalytics_client._profiles.settings_file import DEFAULT_PROFILE, settings_file

if TYPE_CHECKING:
    from adanalytics_client import ServiceProfile
    from adanalytics_client._shapes.drift import Difference


# The cells of the columns of the table.
_SOURCE, _SUBJECT, _FACT = 11, 9, 19
_COLORS = {"seen": "green", "published": "cyan", "assumed": "yellow", "unknown": "red"}


def probe_service(
    invocation: Invocation,
    *,
    with_export: bool,
    against: Path | None,
    cassette: Path | None,
    yes: bool,
    output: Path | None,
) -> None:
    """Probe the service, print what it is or what has changed, and write the file.

    With `against` a profile is written only to a stated `output`. The file `cassette` gets the
    responses.

    Raises:
        UsedUp: when the requests do not fit into the quota.
        ProblemsFound: when the service differs from the file `against`.
    """
    from adanalytics_client import ServiceProfile
    from adanalytics_client._probe.asker import MOST_GETS
    from adanalytics_client._probe.cassette import Cassette, recorded
    from adanalytics_client._probe.probe import probe

    if output is not None and output == cassette:
        raise click.UsageError("-o and --cassette name the same file.")
    before = None if against is None else ServiceProfile.read(against)
    target = output
    if not (output or before):
        name = find_settings(invocation).profile.value
        file = "service.toml" if name == DEFAULT_PROFILE else f"service-{name}.toml"
        target = settings_file(os.environ).with_name(file)
    with connect(invocation) as (client, progress):
        QuotaCheck(invocation, client, progress).check(MOST_GETS)
        export = ", and one order of an export with its polls" if with_export else ""
        question = f"Send at most {MOST_GETS} GET requests{export}?"
        if not yes and not can_ask():
            raise click.UsageError(f"{question} Confirm with --yes.")
        if not yes and not click.confirm(question, default=True, err=True):
            raise CommandError("Nothing was sent.")
        # The files are opened first, so that no request is spent if one cannot be written.
        with _writing(target) as stream, _writing(cassette) as tape:
            connection, responses = client.connection, Cassette()
            operation = probe(connection.session, with_export=with_export)
            profile = connection.driver.run(recorded(operation, responses))
            stream.write(profile.to_toml().encode())
            tape.write(responses.text().encode())
        if before is None:
            _print_profile(invocation, profile)
        if target is not None and output is None:
            _note_file(invocation, target)
        report_end(invocation, "Probed the service", progress, target=target)
    if before is not None and against is not None:
        _compare(invocation, before, profile, against)


@contextmanager
def _writing(path: Path | None) -> Iterator[BinaryIO]:
    """Open the file that takes the name `path` at the end; without a path nothing is kept."""
    if path is None:
        yield BytesIO()
        return
    with naming(path, path.parent):
        make_folder(path.parent)
    with replacing(path) as stream:
        yield stream


def _note_file(invocation: Invocation, path: Path) -> None:
    """Have the profile of the login use the file, unless it has a `service` of its own."""
    name = find_settings(invocation).profile.value
    file, profiles = settings_file(os.environ), profiles_of()
    table = profiles.tables.get(name)
    entry = table.get("service", path.name) if isinstance(table, dict) else None
    if entry != path.name:
        line = f'service = "{path.name}"'
        invocation.notice(f"To use it, write {line} below [profile.{name}] in {file}.")
        return
    write_profile(file, name, {"service": path.name})
    invocation.notice(f"Profile {name} uses it from now on.")


def _print_profile(invocation: Invocation, profile: "ServiceProfile") -> None:
    from adanalytics_cli.output.probe_output import consequences, facts

    lines, texts = facts(profile), consequences(profile)
    if invocation.as_json:
        print_json({"facts": lines, "consequences": texts})
        return
    for line in lines:
        text = f"{line.source:<{_SOURCE}}{line.subject:<{_SUBJECT}}"
        text += f"{visible(line.fact):<{_FACT}} {visible(line.value)}"
        color = _COLORS[line.source]
        print_finding(text, line.source, color, invocation, hang=_SOURCE + _SUBJECT)
    for text in texts:
        click.echo(fitted(visible(text), sys.stdout))


def _compare(
    invocation: Invocation, before: "ServiceProfile", after: "ServiceProfile", file: Path
) -> None:
    from adanalytics_client._shapes.drift import differences

    changes: Sequence[Difference] = differences(before, after)
    if invocation.as_json:
        print_json(changes)
    else:
        for change in changes:
            click.echo(str(change))
    if changes:
        text = f" since {before.probe_date}" if before.probe_date else ""
        raise ProblemsFound(
            f"The service differs from {file} in {counted(len(changes), 'place')}{text}.",
            remedy="If that is right, write the file anew: adanalytics doctor --probe -o FILE",
        )
    invocation.notice(f"The service is as {file} says.")
