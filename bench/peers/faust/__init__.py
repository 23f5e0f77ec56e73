"""Faust without the batching transport."""
