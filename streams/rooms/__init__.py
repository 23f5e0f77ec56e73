"""Rooms: a join-semilattice over what was heard from Zoom.

`state ⊔ delta(fact)`: a fact becomes small pieces of state without looking at any (`facts` and the modules beside
it), and the pieces are joined to what is there (`lattice`). Joining is commutative, associative and idempotent, so
any order, any repetition, any batch and any replay ends in the same bytes. Nothing is counted by events; what a
reader wants to know is computed from entries by `schemas.rooms`.
"""
