"""Dead letters: seeing, understanding and correcting them, and putting them back where they came from.

The topic `dead-letters` is the authority on a message and its failures; the ledger in PostgreSQL, which a projector
fills, is the authority on what was done about it. A replay is safe in any order and any number of times, because what
reads the messages is: this package keeps it orderly, once, and on record all the same.
"""
