"""Bulk exports: the jobs, their files, and downloads."""

from adanalytics_server.exports.download import download_answer
from adanalytics_server.exports.files import ExportedFile, ExportStopped, write_export
from adanalytics_server.exports.jobs import Exports
from adanalytics_server.exports.parquet import parquet_is_available
from adanalytics_server.exports.signing import Signer
from adanalytics_server.exports.table import ExportJob

__all__ = [
    "ExportJob",
    "ExportStopped",
    "ExportedFile",
    "Exports",
    "Signer",
    "download_answer",
    "parquet_is_available",
    "write_export",
]
