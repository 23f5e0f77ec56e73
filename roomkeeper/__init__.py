"""The command line, the composition of roles, the embedded stack and the demo."""
