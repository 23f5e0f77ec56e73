"""Rooms as they are kept and as they are read: entries of the lattice, and the pure views over them.

The fold of `streams.rooms` writes entries; the projector and `streams inspect` read them. Both need the same reading of
one entry, and neither may import the other, so it lies here, below both. Nothing in this package reads a clock: the
present, where a view needs it, is an argument.
"""
