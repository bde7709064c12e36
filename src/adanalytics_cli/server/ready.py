"""Say that a server answers: on stderr for people, in a file for programs."""

import logging
from pathlib import Path

import click

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.demo.data import DemoAccess
from adanalytics_cli.output.output_file import open_output


class Ready:
    """Tells people and programs where the server is, once it answers."""

    def __init__(
        self,
        url: str,
        data: Path,
        access: DemoAccess | None,
        ready_file: Path | None,
        invocation: Invocation,
        *,
        as_record: bool,
    ) -> None:
        self.announced = False
        self._url = url
        self._data = data
        self._access = access
        self._ready_file = ready_file
        self._quiet = invocation.quiet
        self._as_record = as_record

    def announce(self) -> None:
        """Say it on stderr and write the file that programs wait for."""
        self.announced = True
        if not self._quiet:
            place, *commands = self._lines()
            if self._as_record:
                logging.getLogger(__name__).info(place)
            else:
                click.echo(place, err=True)
            # With the demo's secrets in them, so they are for a terminal and no part of the log.
            for line in commands:
                click.echo(line, err=True)
        if self._ready_file:
            with open_output(self._ready_file) as stream:
                stream.write(f"{self._url}\n".encode())

    def withdraw(self) -> None:
        """Take the file away again."""
        if self._ready_file and self.announced:
            self._ready_file.unlink(missing_ok=True)

    def _lines(self) -> list[str]:
        place = f"Serving {self._url} from {self._data}."
        if self._access:
            commands = [f"  {each}" for each in self._access.commands(self._url)]
            sign_in = self._access.sign_in(self._url)
            return [place, "In another terminal:", *commands, *sign_in]
        create = f"adanalytics server key create --user EMAIL --name NAME --data {self._data}"
        return [f"{place} Get a key: {create}"]
