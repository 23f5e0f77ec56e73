"""The room worker: makes Zoom's rooms what the meetings want.

It claims requests under a lease, calls Zoom under the request's provider key, reports the outcome to `meeting-commands`
and settles the row, each only while its epoch is still its own. The meeting's state in Kafka is authoritative for what
is wanted, the row for who may call, Zoom for what is.
"""
