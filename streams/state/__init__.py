"""A worker's state seen from outside: look at it, make it anew, fold history again.

The changelog is the authority; what lies on a disk is a prefix of it, and nothing is lost when it is wiped.
"""
