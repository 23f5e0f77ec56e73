"""Benchmarks: how fast, how flat, and against whom. `python -m bench.NAME` runs one, `make bench` all of them.

Each prints a table and then one JSON line with its figures and ratios. Peers run beside ours in the same run, on one
broker, in turns, one process each, and figures are medians over the rounds. Every side's results are checked.
"""
