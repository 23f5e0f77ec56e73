"""A soak of the command plane: many meetings, three room workers that are killed and paused, a Zoom with every fault.

`python -m tests.soak --seed 7` runs it on a broker and database of its own. It is judged by the simulated Zoom's truth:
each meeting has exactly one room with its present details, or none if it was cancelled.
"""
