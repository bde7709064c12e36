"""The remedies that name something of Python: each has a code, by which other programs word it."""

from adanalytics_client.errors import Remedy

# The argument that helps, and the text, by code. The command line has its own words for
# each of them.
REMEDIES: dict[str, tuple[str, str]] = {
    "accept_difference": (
        "on_drift",
        '{value}, or pass on_drift="warn" to accept the events that arrived.',
    ),
    "address": ("base_url", "Check base_url, or try later."),
    "dataset_field": ("fields", "Name another place, or use the field names of this one."),
    "dataset_format": ("format", "Name another place, or use the format of this one."),
    "dataset_partition": (
        "partition",
        "Name another place, or use the partition of this one. Dataset.repartition changes it.",
    ),
    "dataset_partner": ("partner", "Name another place, or use the partner of this one."),
    "dataset_service": (
        "moved_from",
        (
            "Name another place, or use the service of this one. If the service moved here, give "
            "its former address as moved_from."
        ),
    ),
    "dataset_table": ("table", "Name another place, or use the table of this one."),
    "dataset_zone": ("zone", "Name another place, or use the zone of this one."),
    "days": ("start", "Report it to the service. A sync of start to end needs no list."),
    "end_of_range": (
        "check",
        (
            "Ask the service whether start_date and end_date belong to the range, and whether "
            "pages begin with 1; or pull by days. If it lists days whose events it has since "
            'removed, pass check="none".'
        ),
    ),
    "export_time": ("timeout", "Wait longer, or wait again later."),
    "file_address": (
        "",
        (
            "The whole answer is last_status.answer of the job that start_export returns: fetch "
            "the file from an address in it, or ask the service for the address."
        ),
    ),
    "hour_ignored": (
        "hour",
        "By its profile, the service ignores the hour: leave it out, or split='daily'.",
    ),
    "iceberg_only": ("table", "Pass table='iceberg' for a new dataset."),
    "jsonl_events": ("columns", "Write jsonl without columns=, which keeps it."),
    "less_at_once": ("per_page", "Ask for less with per_page=, or export to a file."),
    "log_in": ("password", "Check the e-mail and password."),
    "log_in_again": ("token", "Log in again: a token is valid for 7 days."),
    "memory": ("memory", "Pass a larger memory=, or select fewer rows or columns."),
    "moved": ("base_url", "If the service has moved, set base_url to its new address."),
    "new_key": (
        "api_key",
        "Check the API key, or have an admin create one in Settings > API Keys.",
    ),
    "other_origin": (
        "base_url",
        (
            "This address is not on the origin of base_url, so the credential was not sent; if "
            "the service has moved, set base_url to its new address."
        ),
    ),
    "other_pages": (
        "per_page",
        (
            "Pull it later; or with another per_page=, in case the service stores an event twice, "
            "at the end of one page and the beginning of the next."
        ),
    ),
    "partner": ("partner", "Check the partner and base_url."),
    "retention": ("retain", "Leave out the retention."),
    "rows": ("", "Use rows()."),
    "rows_key": ("rows_key", "Name it: Client(service=ServiceProfile(rows_key={value!r}))."),
    "shape": (
        "rows_key",
        (
            "Check base_url and partner. If the list of events has an unusual name, pass it as "
            "ServiceProfile(rows_key=...)."
        ),
    ),
    "smaller_queries": (
        "split",
        "Pull smaller queries, with another split or a larger per_page=, or use start_export.",
    ),
    "split": ("split", "Check the days, pull a shorter range, or choose split='none'."),
    "time_field": ("time_field", "Name it: Client(service=ServiceProfile(time_field='...'))."),
    "timeout": ("timeout", "{value}, or raise timeout=."),
    "unchecked_file": ("check", 'Download it again, or pass check="none" to take it as it is.'),
    "wait": ("max_wait", 'Try again then, or pass QuotaPolicy(on_limit="wait", max_wait=...).'),
    "zone": (
        "zone",
        (
            "Pull it again. If it happens again, look for a caching proxy. If the service's hours"
            " are not in {value}, name their time zone, such as "
            "Client(service=ServiceProfile(zone='+05:30'))."
        ),
    ),
}


def remedy(code: str, value: str = "") -> Remedy:
    """Return the remedy of a code, of which some say a value of this very case."""
    option, text = REMEDIES[code]
    return Remedy(text.format(value=value), code=code, option=option, value=value)
