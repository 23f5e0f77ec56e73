"""The outbox: a table in a caller's own database, whose rows become commands once the caller's transaction commits.

The relay takes rows in order per meeting and deletes them after the broker has acknowledged them. It keeps no
watermark, so that a row which commits late is not skipped. A row that cannot be a command is set aside with its reason.
"""
