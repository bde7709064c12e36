"""The Partner API: its routes, what they read and answer, and the document that describes them."""

from adanalytics_server.api.openapi import DocumentedApp, document_text
from adanalytics_server.api.requests import answer_bad_parameters, read_body, read_bytes
from adanalytics_server.api.routes import OPERATIONS, operation_of, partner_router, router
from adanalytics_server.api.summaries import read_dates, read_summary

__all__ = [
    "OPERATIONS",
    "DocumentedApp",
    "answer_bad_parameters",
    "document_text",
    "operation_of",
    "partner_router",
    "read_body",
    "read_bytes",
    "read_dates",
    "read_summary",
    "router",
]
