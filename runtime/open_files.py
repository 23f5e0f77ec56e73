"""How many files and sockets this process may have open: 1,024 in many places, fewer than connections are allowed."""

from __future__ import annotations

import resource


def allow_files(most: int) -> None:
    """Raise this process's limit to `most`, or as far as the system lets it; a higher limit stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
