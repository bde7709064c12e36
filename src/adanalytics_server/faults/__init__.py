"""Faults that a test arms, the journal of requests, and dialects: around the API, not in it."""

from adanalytics_server.faults.dialects import (
    DIALECTS,
    ENDS,
    ROWS,
    SHAPES,
    Choice,
    DialectError,
    dialect_of,
)
from adanalytics_server.faults.fault import EFFECTS, Fault, FaultError, parse_fault
from adanalytics_server.faults.journal import Entry, Journal
from adanalytics_server.faults.layer import CONTROL_PREFIX, FaultCount, FaultLayer, Faults
from adanalytics_server.faults.service import service_choice

__all__ = [
    "CONTROL_PREFIX",
    "DIALECTS",
    "EFFECTS",
    "ENDS",
    "ROWS",
    "SHAPES",
    "Choice",
    "DialectError",
    "Entry",
    "Fault",
    "FaultCount",
    "FaultError",
    "FaultLayer",
    "Faults",
    "Journal",
    "dialect_of",
    "parse_fault",
    "service_choice",
]
