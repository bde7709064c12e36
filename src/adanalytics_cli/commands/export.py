"""`adanalytics export`: download a period as one file from the service."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.core.command import check_option, command, flag, option
from adanalytics_cli.core.errors import Interrupted
from adanalytics_cli.core.files import naming, replacing
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.numbers import Number
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.output import formats
from adanalytics_cli.output.output_file import file_path, is_device, open_stream, output_option
from adanalytics_client import Period
from adanalytics_client._base.choices import Check
from adanalytics_client._base.formats import BINARY, EXPORT_FORMATS, EXPORT_SUFFIXES, suffix_of
from adanalytics_client._base.quantities import counted

if TYPE_CHECKING:
    from adanalytics_client import Client, ExportJob
    from adanalytics_client._progress.progress import Progress

# Bytes; a saved export has a few kilobytes, mostly signed addresses. A file of more is none.
_LONGEST = 1 << 20


def _as_path(value: str | None) -> Path | None:
    if value is None:
        return None
    path = Path(value)
    # A saved export is only read.
    if not (path.is_file() and path.stat().st_size):
        path = file_path(value)
    # A device or a pipe may be endless, and the saved export would replace it.
    if path.exists() and not path.is_file():
        raise click.BadParameter(f"{path} is not a file. Name a file.")
    return path


# The days, the format and whether it is gzip, as far as the command line says so.
Choices = tuple[tuple[date, date] | None, str | None, bool | None]


def _read_file_options(
    file_format: str | None, compression: str | None, output: Path | None
) -> tuple[str | None, bool | None]:
    """Take format and compression from the options, else from the file suffix.

    Raises click.UsageError when the two differ, and for compressed parquet.
    """
    suffix, gz = None, False
    if output and not output.is_dir():
        ending, gz = suffix_of(output)
        suffix = EXPORT_SUFFIXES.get(ending)
    # A name with a known suffix and without .gz means plain; without any suffix, the service may
    # choose.
    is_gzip = compression == "gzip" if compression else gz or (False if suffix else None)
    if output and suffix and file_format not in (None, suffix):
        raise formats.contradiction(f"-f {file_format}", output)
    if output and suffix and is_gzip != gz:
        raise formats.contradiction(f"--compression {compression}", output)
    form = file_format or (suffix if suffix in EXPORT_FORMATS else None)
    if form in BINARY and is_gzip:
        raise click.UsageError(f"{form} is already compressed. Leave out .gz and --compression.")
    return form, is_gzip


def _order(choices: Choices, output: Path | None) -> "Callable[[Client], ExportJob]":
    """Return a function that starts the export; raises click.UsageError when something is missing.

    It names a compression only when one is wanted, since the service documents none.
    """
    days, form, is_gzip = choices
    if days is None:
        raise click.UsageError("No period. Give START, or the --job FILE of a running export.")
    if form is None and output is not None and not output.is_dir():
        raise click.UsageError(
            f"Unknown format: '{output.name}'. "
            f"End the name in .{', .'.join(EXPORT_FORMATS[:-1])} or .{EXPORT_FORMATS[-1]}, "
            "or give --format."
        )
    packing = "gzip" if is_gzip else None
    return lambda client: client.start_export(*days, format=form or "csv", compression=packing)


def _resume(record: str, job: Path, choices: Choices, client: "Client") -> "ExportJob":
    """Return a saved export; raises click.UsageError if it is not the one that is asked for."""
    from adanalytics_client import ConfigurationError, ExportJob

    try:
        # It also refuses an export of another service or partner.
        export = ExportJob.from_json(client, record)
    except ConfigurationError as error:
        raise click.UsageError(f"{job}: {error.message} Give another --job FILE.") from None
    order = export.order
    order_choices: Choices = (order.start, order.end), order.format, order.compression == "gzip"
    # Options that were not given take what the saved export has.
    if any(
        choice not in (None, order_value)
        for choice, order_value in zip(choices, order_choices, strict=True)
    ):
        packing = f", {order.compression}" if order.compression else ""
        raise click.UsageError(
            f"{job} holds another export: {order.start} to {order.end}, "
            f"{order.format}{packing}. Ask for that one, or give another --job FILE."
        )
    return export


@command(
    "export",
    params=[
        *period_arguments(required=False),
        output_option(is_folder=True),
        option(
            "-f --format file_format",
            EXPORT_FORMATS,
            None,
            "File format; the default follows the file suffix, else csv.",
        ),
        formats.json_option(),
        option(
            "--compression",
            ("none", "gzip"),
            None,
            "File compression; the default follows the file suffix.",
        ),
        flag(
            "--no-wait",
            "Start the export and exit; save it to --job FILE, else to stdout, for later.",
        ),
        option(
            "--job",
            click.Path(),
            "FILE",
            "Fetch the export saved in FILE, or start one and save it in a new FILE.",
            reader=_as_path,
        ),
        check_option(),
        option(
            "--deadline",
            Number(min=0, min_open=True),
            "S",
            "Wait at most S seconds for the service to finish.",
            3600,
        ),
    ],
    details=(
        "Sends a few requests, however many events there are. Run the command again to resume a "
        "broken download. An export of several files needs a folder: -o FOLDER. "
        f"{PERIOD_HELP} With the --job FILE of a running export, leave out START."
    ),
    examples=[
        "adanalytics export 2026-01 -o january.csv",
        "adanalytics export 2026-01 -o january.jsonl.gz",
        "adanalytics export 2026-01 --no-wait --job january.job",
        "adanalytics export --job january.job -o january.csv",
    ],
    connects=True,
)
def export(
    invocation: Invocation,
    start: Period | None,
    end: Period | None,
    file_format: str | None,
    compression: str | None,
    output: Path | None,
    check: Check,
    deadline: float,
    no_wait: bool,
    job: Path | None,
) -> None:
    """Start or resume the export, wait for it, and fetch its complete file."""
    days = period(invocation, start, end) if start else None
    choices = (days, *_read_file_options(file_format, compression, output))
    record = None
    if job and job.exists():
        # An empty file, as mktemp makes it, holds none.
        with job.open("rb") as file:
            record = file.read(_LONGEST).decode("utf-8", errors="replace") or None
    if no_wait and (
        output
        or click.get_current_context().get_parameter_source("deadline") != ParameterSource.DEFAULT
    ):
        raise click.UsageError("--no-wait does not fetch the file. Leave out -o and --deadline.")
    as_json = invocation.as_json
    if as_json and not (output or no_wait):
        raise click.UsageError(
            "--json prints the report on stdout. Name a file for the export with -o FILE."
        )
    if not no_wait:
        formats.check_not_terminal("An export", output)
    if record and no_wait:
        raise click.UsageError(f"{job} already holds an export. To fetch it, leave out --no-wait.")
    if job and not record and not days:
        raise click.UsageError(f"{job} holds no export yet. Give START to begin one.")
    begin = partial(_resume, record, job, choices) if record and job else _order(choices, output)
    with connect(invocation) as (client, progress), ExitStack() as stack:
        export = begin(client)
        if job and not record:
            # Only the owner may read the addresses, which may be signed.
            with replacing(job, private=True) as file:
                file.write(f"{export.to_json()}\n".encode())
        if no_wait:
            progress.finish()
            _show_started(export, job, progress, invocation)
            return
        target = output
        if target is None or is_device(target):
            # A file for stdout or a pipe is checked completely before its first byte is written.
            target = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "export"
        try:
            export.wait(timeout=deadline)
            with naming(output):
                export.download(target, check=check)
        except KeyboardInterrupt as interrupt:
            if job is None:
                raise
            raise Interrupted(
                "Interrupted. The export continues.",
                remedy=f"Fetch it with: {_again(invocation, export, job, output)}",
                interrupt=interrupt,
            ) from None
        progress.finish()
        size = None if target.is_dir() else target.stat().st_size
        if target != output:
            with target.open("rb") as file, open_stream(output) as stream:
                shutil.copyfileobj(file, stream)
    status = export.last_status
    events, files = status.row_count, len(status.files)
    if as_json:
        facts = {"file": str(output), "events": events, "bytes": size}
        print_json(_record(export, progress, facts))
    summary = counted(files, "file") if events is None else counted(events, "event")
    if files > 1 and events is not None:
        summary += f" in {files} files"
    if status.service_count is not None:
        summary += ", as the service counts them,"
    ordered_days = (export.order.start, export.order.end)
    report_end(invocation, summary, progress, days=ordered_days, target=output, size=size)


def _again(
    invocation: Invocation, export: "ExportJob", job: Path, output: Path | None = None
) -> str:
    """Return the command line that fetches a saved export to a file, as a terminal requires."""
    suffix = export.order.format + (".gz" if export.order.compression == "gzip" else "")
    file = output or f"events.{suffix}"
    return invocation.command_line("export", "--job", str(job), "-o", str(file))


def _show_started(
    export: "ExportJob", job: Path | None, progress: "Progress", invocation: Invocation
) -> None:
    if job is None:
        click.echo(export.to_json())
        return
    if invocation.as_json:
        # Without the addresses, which may be signed: only the owner may read the file.
        facts = {"job": str(job), "status": export.last_status.phase.value}
        print_json(_record(export, progress, facts))
    invocation.notice(f"Export started. Fetch it with: {_again(invocation, export, job)}")


def _record(
    export: "ExportJob", progress: "Progress", facts: Mapping[str, object]
) -> dict[str, object]:
    """Return the `facts`, and the order and costs of the export, as plain values."""
    order = export.order
    return {
        **facts,
        "start": order.start,
        "end": order.end,
        "format": order.format,
        "compression": order.compression,
        "requests": progress.requests,
        "seconds": round(progress.seconds(), 3),
    }
