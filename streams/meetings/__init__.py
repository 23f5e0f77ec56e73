"""Meetings: a decider over commands."""
