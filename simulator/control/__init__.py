"""The control side, under `/control`: who comes and goes, what fails, what was true, what was counted."""
