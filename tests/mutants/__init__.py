"""Faults planted on purpose, one at a time, to see that tests catch each: `make mutants`."""
