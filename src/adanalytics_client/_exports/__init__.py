"""Bulk exports: order, wait and download."""

from adanalytics_client._exports.download import Delivery, check_delivery
from adanalytics_client._exports.names import named_format
from adanalytics_client._exports.order import start_export
from adanalytics_client._exports.part import Part
from adanalytics_client._exports.saved import SavedExport, SavedJob, read_saved
from adanalytics_client._exports.status import (
    ONE_HOUR,
    ExportFile,
    ExportOrder,
    ExportPhase,
    ExportStatus,
)
from adanalytics_client._exports.wait import ask_status, polls_within, wait_for

__all__ = [
    "ONE_HOUR",
    "Delivery",
    "ExportFile",
    "ExportOrder",
    "ExportPhase",
    "ExportStatus",
    "Part",
    "SavedExport",
    "SavedJob",
    "ask_status",
    "check_delivery",
    "named_format",
    "polls_within",
    "read_saved",
    "start_export",
    "wait_for",
]
