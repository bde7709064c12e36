"""Pulls of events: plan the queries, fetch and compare their pages, yield the events."""
