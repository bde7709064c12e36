"""`adanalytics export`: a period as one file that the service writes."""

import shutil
import sys
import tempfile
from pathlib import Path

import click

from adanalytics_cli.command import ExampleCommand
from adanalytics_cli.connection import connect
from adanalytics_cli.output_file import output_option
from adanalytics_cli.periods import PERIOD_HELP, Span, period, period_arguments
from adanalytics_cli.remarks import remark

FORMATS = ("csv", "jsonl", "parquet")


@click.pass_context
def run(
    context: click.Context,
    start: Span,
    end: Span | None,
    file_format: str | None,
    compression: str | None,
    output: Path | None,
    timeout: float,
) -> None:
    """Start the export, wait for it, and fetch its file whole or not at all."""
    form, packing = _pick_form(file_format, compression, output)
    first, last = period(start, end)
    with connect(context) as (client, progress), tempfile.TemporaryDirectory() as scratch:
        # A file for stdout is checked as a whole before its first byte is shown.
        target = output or Path(scratch) / "export"
        client.export(first, last, to=target, format=form, compression=packing, timeout=timeout)
        progress.finish()
        size = target.stat().st_size
        if output is None:
            with target.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    remark(_closing(size, progress.requests, progress.seconds(), output), context)


def _pick_form(
    file_format: str | None, compression: str | None, output: Path | None
) -> tuple[str, str | None]:
    """Format and compression: as given, else as the suffix of the file says, else plain csv.

    Nothing about compression is asked of the service unless it is wanted: it documents none.
    """
    name = output.name if output else ""
    packed = compression == "gzip" or (compression is None and name.endswith(".gz"))
    suffix = name.removesuffix(".gz").rpartition(".")[2]
    if file_format is None and output is not None and suffix not in FORMATS:
        raise click.UsageError(
            f"no format for '{name}'. End it in .csv, .jsonl or .parquet, or give --format."
        )
    return file_format or (suffix if suffix in FORMATS else "csv"), "gzip" if packed else None


def _closing(size: int, requests: int, seconds: float, output: Path | None) -> str:
    from adanalytics_cli.quantities import in_bytes

    place = f" -> {output}" if output else ""
    return f"{in_bytes(size)}, {requests} requests, {seconds:.1f} s{place}"


export = ExampleCommand(
    "export",
    callback=run,
    params=[
        *period_arguments(required=True),
        click.Option(
            ["--format", "file_format"],
            type=click.Choice(FORMATS),
            help="Format of the file; by default after its suffix, else csv.",
        ),
        click.Option(
            ["--compression"],
            type=click.Choice(["none", "gzip"]),
            help="Compression of the file; by default after its suffix.",
        ),
        output_option(),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="S",
            default=3600,
            show_default=True,
            help="Seconds to wait for the service to finish.",
        ),
    ],
    summary="Have the service write a period to one file.",
    details=f"A few requests, whatever the number of events. {PERIOD_HELP}",
    examples=[
        "adanalytics export 2026-01 -o january.csv",
        "adanalytics export 2026-01 -o january.jsonl.gz",
        "adanalytics export yesterday | head -3",
    ],
    connects=True,
)
