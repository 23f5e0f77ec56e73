"""Quix Streams, in an environment of its own: it needs another version of confluent-kafka than Roomkeeper."""
