"""Bulk exports: the jobs, their files, and downloads."""
