"""The database's shape as numbered files, `NNNN_name.sql`; `runtime.migrate` runs them.

A file that has run stays as it is.
"""
