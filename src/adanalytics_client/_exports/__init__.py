"""Bulk exports: order, wait and download."""
