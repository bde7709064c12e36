"""`adanalytics serve`: the embedded server on a port of this machine."""

import ipaddress
import json
import logging
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from adanalytics_cli.core.command import flag, option
from adanalytics_cli.core.errors import CommandError, Terminated
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.output.output_file import open_output

from .data_folder import DEFAULT_DATA, data_option, server_command
from .demo_data import EVENTS_PER_DAY, PARTNER, DemoAccess, prepare_demo_data


@server_command(
    "serve",
    params=[
        flag("--demo", "Serve generated data, in a temporary folder unless --data is given."),
        option("--demo-key", str, "KEY", "API key of the demo; it begins with aak_."),
        option("--demo-events", WholeNumber(1), "N", "Events on each of its days.", EVENTS_PER_DAY),
        data_option(default=None, is_created=True),
        option("--port", WholeNumber(0, 65535), "N", "Port to bind; 0 picks a free one.", 8000),
        option("--host", str, "ADDRESS", "Address to bind.", "127.0.0.1"),
        flag("--allow-remote", "Allow a --host that other machines can reach."),
        flag("--for-tests", "Allow --demo and --test-controls with --allow-remote."),
        option(
            "--log-format",
            ("text", "json"),
            None,
            "Format of the log on stderr, one line per request.",
            "text",
        ),
        option(
            "--ready-file",
            click.Path(path_type=Path),
            "PATH",
            "Write the URL to this file once it answers; in a .json file also the key.",
        ),
        option(
            "--rate-limit",
            WholeNumber(0),
            "N",
            "Requests per API key and hour; 0 means no limit.",
            1000,
        ),
        option(
            "--export-inline-max",
            WholeNumber(0),
            "ROWS",
            "Finish an export of up to this size within its request.",
            50_000,
        ),
        option(
            "--dialect", str, "NAME", "Other responses, such as hints or modern,bare.", "reference"
        ),
        option(
            "--as service",
            str,
            "FILE|NAME",
            "Respond as the service of this file from doctor --probe, or as counters.",
        ),
        flag("--docs", "Serve /docs, a page that shows and tries the API."),
        option(
            "--cors",
            str,
            "ORIGIN",
            "Let pages of this origin read the API; may be repeated.",
            multiple=True,
        ),
        flag("--loose", "Accept unknown query parameters."),
        flag(
            "--test-controls",
            "Serve /_control, which moves the clock, arms faults and resets; for tests.",
        ),
    ],
    details=f"Without --data it uses ./{DEFAULT_DATA}. Ctrl-C stops it.",
    examples=["adanalytics serve --demo", "adanalytics serve --data adanalytics-data --port 8080"],
)
def serve(
    invocation: Invocation,
    host: str,
    port: int,
    data: Path | None,
    demo: bool,
    demo_key: str | None,
    demo_events: int,
    for_tests: bool,
    rate_limit: int,
    export_inline_max: int,
    docs: bool,
    cors: tuple[str, ...],
    loose: bool,
    ready_file: Path | None,
    allow_remote: bool,
    log_format: Literal["text", "json"],
    dialect: str,
    service: str | None,
    test_controls: bool,
) -> None:
    """Bind, prepare the data, print the address, and serve until a signal stops it."""
    _check_reach(
        host,
        demo=demo and not for_tests,
        test_controls=test_controls and not for_tests,
        allow_remote=allow_remote,
    )
    source = click.get_current_context().get_parameter_source
    for name in ("key", "events"):
        if not demo and source(f"demo_{name}") is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--demo-{name} belongs to the demo. Add --demo.")
    from adanalytics_server.accounts.api_keys import KEY
    from adanalytics_server.admin import list_partners
    from adanalytics_server.app import create_app
    from adanalytics_server.faults import dialect_of, service_choice
    from adanalytics_server.logs import set_up_logs
    from adanalytics_server.serving.running import listen, serve, url_of
    from adanalytics_server.settings import Settings
    from adanalytics_server.storage.state import folder_lock

    if demo_key is not None and not KEY.fullmatch(demo_key):
        raise click.BadParameter(
            "a key is aak_ and at least 8 letters, digits, '-' or '_'.", param_hint="'--demo-key'"
        )
    shapes = dialect_of(dialect, service_choice(service) if service else None)
    with ExitStack() as stack:
        # SIGTERM is how a server is meant to end.
        stack.enter_context(suppress(Terminated))
        listener = stack.enter_context(listen(host, port))
        if data is None and demo:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adanalytics-")))
        folder = data or DEFAULT_DATA
        # Report an unusable folder now, without a traceback from inside the server.
        with folder_lock(folder):
            list_partners(folder)
        settings = Settings(
            data=folder,
            rate_limit=rate_limit,
            export_inline_max=export_inline_max,
            loose=loose,
            docs=docs,
            cors=cors,
            any_host=allow_remote,
            test_controls=test_controls,
            dialect=shapes,
        )
        access = None
        if demo:
            access = prepare_demo_data(folder, invocation, events=demo_events, key=demo_key)
        is_announced = False

        def announce() -> None:
            nonlocal is_announced
            is_announced = True
            url = url_of(listener)
            bound = listener.getsockname()[0]
            _announce(bound, url, folder, access, invocation, as_record=log_format == "json")
            if ready_file:
                # A file of a server that has stopped would send scripts to a dead port.
                stack.callback(ready_file.unlink, missing_ok=True)
                ready = {"url": url}
                if access:
                    ready |= {"partner": PARTNER, "api_key": access.api_key}
                is_json = log_format == "json" or ready_file.suffix == ".json"
                with open_output(ready_file, private=is_json and demo) as stream:
                    stream.write(f"{json.dumps(ready) if is_json else url}\n".encode())

        level = logging.WARNING if invocation.quiet else logging.INFO
        set_up_logs(log_format, level=logging.DEBUG if invocation.debug else level)
        try:
            serve(create_app(settings), listener, ready=announce)
        except SystemExit as leaving:
            # uvicorn leaves the process by itself when the application cannot start.
            if is_announced:
                raise
            raise CommandError("The server could not start. Read its log above.") from leaving


def _announce(
    bound: str,
    url: str,
    data: Path,
    access: DemoAccess | None,
    invocation: Invocation,
    *,
    as_record: bool,
) -> None:
    """Print the address, and how to sign in."""
    is_everywhere = ipaddress.ip_address(bound).is_unspecified
    reach = " and every other address of this machine" if is_everywhere else ""
    place = f"Serving {url}{reach} from {data}."
    if not access:
        create = f"adanalytics server key create --user EMAIL --name NAME --data {data}"
        place += f" Get a key: {create}"
    if as_record:
        logging.getLogger(__name__).info(place)
    elif not invocation.quiet:
        click.echo(fitted(place, sys.stderr), err=True)
    if access:
        # Nothing else shows the demo's secrets, so -q does not hide them; never logged.
        lines = [*access.commands(url), *access.sign_in(url)]
        if not invocation.quiet:
            lines = ["In another terminal:", *lines]
        click.echo("\n".join(lines), err=True)


def _check_reach(host: str, *, demo: bool, test_controls: bool, allow_remote: bool) -> None:
    if not allow_remote:
        if _is_loopback(host):
            return
        raise click.UsageError(
            f"Other machines can reach {host}, over plain http. "
            "Give --allow-remote to allow it, or leave --host out."
        )
    # On a loopback address too: --allow-remote answers proxies, and pages of other sites.
    reason = "--demo works on this machine only, because its API key is printed." if demo else ""
    if test_controls and not demo:
        reason = "--test-controls needs no credential, so it works on this machine only."
    if reason:
        remedy = "Leave --host and --allow-remote out, or say --for-tests."
        raise click.UsageError(f"{reason} {remedy}")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
