"""What the benchmarks compare Roomkeeper with, each in a process of its own, used as its own manual shows it.

Every peer prints `first` on standard output when its fold sees the first event; the bench takes the time.
"""
