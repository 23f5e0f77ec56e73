"""Rooms: a join-semilattice over what was heard from Zoom."""
