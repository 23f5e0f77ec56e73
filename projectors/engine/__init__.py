"""The engine under every projection: one consumer, one database connection, offsets that commit with the rows."""
