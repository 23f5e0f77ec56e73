"""The poller: finds what webhooks never told, asks Zoom about it, and tells what it saw like any other fact.

Guarantees: one process asks at a time, and stops before its next call when another leads; a pass asks about a bounded
number of rooms, worst first, within a share of the account's rates; what it sees goes to `zoom-events` and counts as
of when the request was sent; it writes no state of rooms. Zoom is the authority on what happened; the fold decides what
an observation means.
"""
