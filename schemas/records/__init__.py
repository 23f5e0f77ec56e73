"""Dataclasses for the Avro records, one module per topic."""
