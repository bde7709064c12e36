"""Figures about adanalytics that anyone can measure again: `make proof`."""
