"""`adanalytics sync`: keep a folder of events equal to the service."""

import os
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, get_args

import click

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.account.quota import QuotaCheck
from adanalytics_cli.core.command import check_option, command, flag, option
from adanalytics_cli.core.errors import Interrupted, PartlyDone, UsedUp
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import Number, WholeNumber
from adanalytics_cli.core.periods import period, period_arguments, span
from adanalytics_cli.core.remedies import words_of
from adanalytics_cli.output.formats import json_option
from adanalytics_client import Observer, Period
from adanalytics_client._base.choices import Check, PartFormat, Partition, TableFormat, Via
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client.observers import RequestDue, WaitStarted

if TYPE_CHECKING:
    from adanalytics_client.dataset import SyncReport


@command(
    "sync",
    params=[
        *period_arguments(required=False),
        option(
            "--to location",
            click.Path(),
            "DIR|URL",
            "The dataset: a folder, or an address such as s3://bucket/events.",
            required=True,
        ),
        option(
            "-f --format file_format",
            get_args(PartFormat),
            None,
            "Format of a new dataset; the default is parquet.",
        ),
        json_option(),
        option(
            "--table",
            get_args(TableFormat),
            None,
            "Let a table of this kind list the parquet files of a new dataset.",
        ),
        option(
            "--table-name",
            str,
            "NAME",
            "The name of a new Iceberg table, such as ads.events; the default is "
            "adanalytics.PARTNER.",
        ),
        option(
            "--catalog",
            str,
            "NAME",
            "The catalog of a new Iceberg table, by its name in the configuration of pyiceberg.",
        ),
        option(
            "--retain",
            str,
            "AGE",
            "Keep earlier versions of the table for AGE, such as 12h or 7d; the default of a new "
            "table is 1d.",
        ),
        option(
            "--partition",
            get_args(Partition),
            None,
            "Files of a new dataset: one for each day that is over, or one for each hour; the "
            "default is day for parquet.",
        ),
        flag("--repartition", "First write an existing dataset anew in the given --partition."),
        flag("--dry-run", "Show what a sync would pull and what it would cost; write nothing."),
        option(
            "--repull",
            WholeNumber(min=0),
            "DAYS",
            "Pull the last DAYS days again, even if the service has not changed them.",
        ),
        option(
            "--via",
            get_args(Via),
            None,
            "Pull pages or bulk exports; auto picks the cheaper.",
            "auto",
        ),
        option(
            "--moved-from",
            str,
            "URL",
            "The former address of the service, if it has moved since the last sync.",
        ),
        option(
            "--workers", WholeNumber(min=1), "N", "Sort exports in N processes, not one per core."
        ),
        check_option(),
        option("--max-requests", WholeNumber(min=1), "N", "Send at most N requests in this run."),
        option("--deadline", Number(min=0, min_open=True), "S", "Send no request after S seconds."),
    ],
    details=(
        f"START and END are {Period.FORMS}; both are inclusive, in UTC or in --zone. Without them "
        "it syncs every day of the service. Pulls hours that are missing, that were not over when "
        "they were pulled, or that the service restated since. To resume a sync that stopped, run "
        "the same command again."
    ),
    examples=[
        "adanalytics sync --to events",
        "adanalytics sync -7d yesterday --to events",
        "adanalytics sync --to events --dry-run",
        "adanalytics sync 2026-01 --to s3://bucket/events --max-requests 500",
    ],
    connects=True,
)
def sync(
    invocation: Invocation,
    start: Period | None,
    end: Period | None,
    location: str,
    via: Via,
    file_format: PartFormat | None,
    table: TableFormat | None,
    table_name: str | None,
    catalog: str | None,
    retain: str | None,
    partition: Partition | None,
    repartition: bool,
    repull: int | None,
    moved_from: str | None,
    workers: int | None,
    check: Check,
    max_requests: int | None,
    deadline: float | None,
    dry_run: bool,
) -> None:
    """Pull hours that are missing, were not over when pulled, or have been restated since."""
    from adanalytics_cli.output.sync_output import show_dry_run, write_sync_report
    from adanalytics_client import QuotaExceeded, RateLimited
    from adanalytics_client._progress.progress import joined
    from adanalytics_client.dataset import Dataset

    repull, days = repull or 0, period(invocation, start, end) if start else None
    # A day that the service lists is never in the future, so this clock does not leave it out.
    first, last = start.through(end) if start else (None, None)
    words = [*(str(day) for day in (first, last) if day), "--to", location]
    values = {"--via": via, "--repull": repull, "--moved-from": moved_from, "--check": check}
    if dry_run:
        values |= {"--format": file_format, "--table": table, "--table-name": table_name}
        values |= {"--catalog": catalog, "--partition": partition}
    values["--retain"] = retain
    for name, value in values.items():
        words += [name, str(value)] if value not in (None, 0, "auto") else []
    repetition = invocation.command_line("sync", *words)
    if repartition and (partition is None or dry_run):
        remedy = "Pass --partition, too." if partition is None else "Pass it without --dry-run."
        raise click.UsageError(f"--repartition writes an existing dataset anew. {remedy}")
    dataset = Dataset(
        location,
        format=file_format,
        table=table,
        table_name=table_name,
        catalog=catalog,
        partition=partition,
        clock=invocation.clock,
    )
    if repartition and partition:
        dataset.repartition(partition)
    budget = Budget(requests=max_requests, seconds=deadline, clock=invocation.clock)
    with connect(invocation, waits=not dry_run, budget=budget) as (client, progress):
        if dry_run:
            plan = dataset.plan(
                client, first, last, via=via, repull=repull, moved_from=moved_from, check=check
            )
            progress.finish()
            show_dry_run(plan, client.quota, progress.requests, repetition, invocation)
            return

        quota_check = QuotaCheck(invocation, client, progress, resumable=True, most=max_requests)
        observers = (quota_check, *invocation.observers, budget, progress)
        observed = client.with_options(observer=joined(*observers))
        try:
            cores = workers or os.cpu_count() or 1
            report = dataset.sync(
                observed,
                first,
                last,
                via=via,
                repull=repull,
                moved_from=moved_from,
                workers=cores,
                check=check,
                retain=retain,
            )
        except KeyboardInterrupt as interrupt:
            message = f"Interrupted; {_extent(dataset.report)}"
            raise Interrupted(
                message, remedy=f"Continue with: {repetition}", interrupt=interrupt
            ) from None
        except (UsedUp, QuotaExceeded, RateLimited) as stopped:
            cause = getattr(stopped, "message", str(stopped)).rstrip(".")
            message = f"{cause}; {_extent(dataset.report)}"
            raise UsedUp(message, remedy=f"Continue with: {repetition}") from None
        finally:
            progress.finish()
            # Also when stderr is not a terminal: a cron log is read later.
            for problem in dataset.report.damaged if dataset.report else ():
                invocation.notice(visible(f"Damaged, pulled again: {problem}"))
            if dataset.report and invocation.as_json:
                write_sync_report(dataset.report, location, progress)
        for change in report.restated:
            invocation.notice(visible(str(change)))
        if report.failed:
            # Another export would have the same fault; pages may not.
            if via == "export" and report.failed[0].kind in _FAULTS_OF_EXPORTS:
                words[words.index("--via") + 1] = "pages"
                repetition = invocation.command_line("sync", *words)
            raise _partly_done(report, location, repetition)
        if days:
            days = days[0], max([days[1], *(hour.day for hour in report.hours)])
        done, size = f"{span(*days)} up to date" if days else "up to date", None
        if report.wanted:
            hours = counted(len(report.hours), "hour")
            done, size = f"{counted(report.events, 'event')} in {hours}", report.size
            done += f" of {span(*days)}" if days else ""
        report_end(invocation, done, progress, target=location, size=size)


_FAULTS_OF_EXPORTS = frozenset(
    {
        *("ChecksumMismatch", "DownloadError", "ExportExpired", "ExportFailed", "InvalidRequest"),
        *("NotFound", "PermissionDenied", "ProtocolError"),
    }
)
"""The kinds of failures of exports that leave events out, or bring none."""


class Budget(Observer):
    """Counts requests before they are sent, and raises UsedUp before one exceeds a limit.

    A limit of None is none; `seconds` are counted by `clock`, which returns the time in UTC.
    """

    def __init__(
        self, *, requests: int | None, seconds: float | None, clock: Callable[[], datetime]
    ) -> None:
        self._allowed = requests
        self._rest = requests
        self._seconds = seconds
        self._clock = clock
        self._until = None if seconds is None else clock() + timedelta(seconds=seconds)
        self._lock = threading.Lock()

    def due(self, _info: RequestDue) -> None:
        # Between two requests, where a stop loses nothing.
        if self._until is not None and self._clock() >= self._until:
            raise UsedUp(f"Stopped: the {self._seconds:g} s deadline passed before the sync ended")
        with self._lock:
            if self._rest is None:
                return
            if not self._rest:
                raise UsedUp(f"Stopped: reached --max-requests {self._allowed}")
            self._rest -= 1

    def wait(self, info: WaitStarted) -> None:
        """Refuse a wait that would end after the deadline."""
        if self._until is not None and info.resumes_at >= self._until:
            raise UsedUp(
                f"Stopped: the {self._seconds:g} s deadline passes before requests may resume "
                f"at {info.resumes_at:%H:%M:%S} UTC"
            )


def _extent(report: "SyncReport | None") -> str:
    """Return the progress of a run that was stopped, in words."""
    if report is None or report.wanted is None:
        return "the missing hours are not known yet"
    if not report.wanted:
        return "no hour was missing"
    # Pages that were kept cost nothing in the next run.
    pages = f", {counted(report.pages, 'page')} kept" if report.pages else ""
    return f"{len(report.hours):,} of {counted(report.wanted, 'hour')} done{pages}"


def _partly_done(report: "SyncReport", location: str, repetition: str) -> PartlyDone:
    first = report.failed[0]
    problem = f"{first.message} {words_of(first.remedy)}".rstrip(". ")
    rest = f", and {len(report.failed) - 1} more" if len(report.failed) > 1 else ""
    stopped = PartlyDone(
        f"{report.left:,} of {counted(report.wanted or 0, 'hour')} not done: "
        f"{first.query}: {problem}{rest}. Report: {location}/{report.file}",
        remedy=f"Finish with: {repetition}",
    )
    stopped.facts = first.facts
    return stopped
