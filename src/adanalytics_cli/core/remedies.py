"""The client's remedies in words of the command line."""

import shlex

from adanalytics_client import Remedy

_PLACE = "Give --to another place, or"
_SMALLER = "Ask for fewer days at a time, or use adanalytics export."
# What to do here, by the code of the client's remedy: those of its texts name arguments of Python.
WORDS = {
    "accept_difference": "Run the same command again later.",
    "address": "Check {option}, or try later.",
    "dataset_field": f"{_PLACE} the --map and --time-field that it was made with.",
    "dataset_format": f"{_PLACE} leave out --format and --table.",
    "dataset_partition": "Leave out --partition, or add --repartition to write the files anew.",
    "dataset_partner": f"{_PLACE} the {{option}} that it was made with.",
    "dataset_service": (
        "Name another place (sync takes it as --to). If the service has moved here, sync takes its "
        "former address as {option}."
    ),
    "dataset_table": "Leave out --table-name and --catalog, or give --to another place.",
    "dataset_zone": f"{_PLACE} the {{option}} that it was made with.",
    "days": (
        "Report it to the service. A sync of START to END needs no list, nor "
        "does login --no-verify."
    ),
    "end_of_range": (
        "Ask the service whether start_date and end_date belong to the range, and whether pages "
        "begin with 1. If it lists days whose events it has since removed, add {option} none."
    ),
    "export_time": (
        "Run the same command again. With export, increase --deadline, or fetch it later with "
        "--job FILE."
    ),
    "file_address": "Ask the service for the address of the file.",
    "hour_ignored": "By its profile, the service ignores the hour: leave out {option}.",
    "iceberg_only": (
        "Give --table iceberg for a new dataset, or leave out --table-name and --catalog."
    ),
    "jsonl_events": "Use -f jsonl without {option}.",
    "less_at_once": _SMALLER,
    "log_in": "Check ADANALYTICS_EMAIL and ADANALYTICS_PASSWORD.",
    "log_in_again": "Sign in again: adanalytics login",
    "memory": "Give a larger {option}, or select fewer rows or columns.",
    "moved": "If the service has moved, give its new address as {option}.",
    "new_key": "Check ADANALYTICS_API_KEY, or have an admin create a key in Settings > API Keys.",
    "other_origin": (
        "This address is not on the origin of {option}, so the credential was not sent. If the "
        "service has moved, give its new address as {option}."
    ),
    "other_pages": (
        "Run the same command again later; or with another {option}, in case the service stores "
        "an event twice, at the end of one page and the beginning of the next."
    ),
    "partner": "Check {option} and --base-url.",
    "retention": "Leave out {option}.",
    "rows": "Use -f jsonl.",
    "rows_key": "Name it: {option} {value}.",
    "shape": (
        "Check --base-url and --partner. If the list of events has an unusual name, give it as "
        "{option} NAME."
    ),
    "smaller_queries": _SMALLER,
    "split": "Ask for fewer days at a time.",
    "time_field": "Name it: {option} NAME.",
    "timeout": "Check --base-url and the network, or try later.",
    "unchecked_file": "Run the same command again, or with {option} none to take it as it is.",
    "wait": "Run the same command again then.",
    "zone": (
        "Run the same command again. If it happens again, look for a caching proxy. If the "
        "service's hours are not in {value}, name their time zone, such as {option} +05:30."
    ),
}


def words_of(remedy: Remedy) -> str:
    """Return what to do, in words of the command line."""
    option = f"--{remedy.option.replace('_', '-')}"
    return WORDS.get(remedy.code, "{text}").format(
        option=option, value=shlex.quote(remedy.value), text=remedy
    )
