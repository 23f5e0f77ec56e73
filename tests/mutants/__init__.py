"""Faults planted on purpose, one at a time, to see that the tests of rooms catch each: `make mutants`."""
