"""Faults that a test arms, the journal of requests, and dialects: around the API, not in it."""

from .dialects import DIALECTS, ENDS, ROWS, SHAPES, Choice, DialectError, dialect_of
from .fault import EFFECTS, Fault, FaultError, parse_fault
from .journal import Entry, Journal
from .layer import CONTROL_PREFIX, FaultCount, FaultLayer, Faults
from .service import service_choice

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
