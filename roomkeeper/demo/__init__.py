"""`roomkeeper demo`: a day of meetings with faults, on a real stack, beside what was true in the simulated Zoom.

It sees Roomkeeper as a caller does, over HTTP alone, and knows the truth from the simulator's control API.
"""
