"""`adanalytics demo`: the whole system on generated data, checked against itself."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from adanalytics_cli.core.command import option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.server.data_folder import server_command


@server_command(
    "demo",
    params=[
        option(
            "--keep",
            click.Path(path_type=Path, file_okay=False),
            "DIR",
            "Keep the data and the files in this new folder.",
        )
    ],
    details=(
        "Starts the embedded server, pulls a day of events by the hour, prints its summary, "
        "exports the day, and compares the number of events and the revenue to the last digit. "
        "Exit status 1 if they differ."
    ),
    examples=["adanalytics demo", "adanalytics demo --keep demo"],
)
def demo(invocation: Invocation, keep: Path | None) -> None:
    from .run import Demo, Story

    story = Story(invocation)
    start = time.monotonic()
    with _folder(keep) as folder:
        demo = Demo(folder, invocation, story)
        demo.run()
        seconds = time.monotonic() - start
        story.step("Done", f"everything agrees to the last digit ({seconds:.1f} s in all)")
        if keep:
            files = [str(demo.events_file), str(demo.export_file)]
            story.commands("Kept:", [*files, str(demo.data)])
            story.commands("Serve it again:", [f"adanalytics serve --demo --data {demo.data}"])
        else:
            story.commands(
                "Try it yourself:",
                [
                    "adanalytics serve --demo         # then run its lines in another terminal",
                    "adanalytics events 2026-01-15 --hour 20",
                    "adanalytics events 2026-01-15 -o day.jsonl.gz",
                    "adanalytics summary 2026-01 -g demand_tag",
                    "adanalytics export 2026-01 -o january.csv",
                ],
            )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="adanalytics-demo-") as scratch:
            yield Path(scratch)
        return
    if keep.is_dir() and any(keep.iterdir()):
        raise click.UsageError(f"{keep} is not empty. Name a new folder for --keep.")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep
