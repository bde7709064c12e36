"""Bulk exports: order, wait and download."""

from adanalytics_client._exports.download import Delivery, check_delivery
from adanalytics_client._exports.names import named_format
from adanalytics_client._exports.part import Part
from adanalytics_client._exports.poll import ask_status, polls_within, start_export, wait_for
from adanalytics_client._exports.saved import SavedExport, SavedJob, read_saved
from adanalytics_client._exports.status import (
    ONE_HOUR,
    ExportFile,
    ExportOrder,
    ExportPhase,
    ExportStatus,
)

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
