"""What the processes of a whole Roomkeeper take of the machine, from the kernel's accounts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.process import cpu_seconds
from roomkeeper.local.stack import Stack

LOAD = "load and reader"


def cpu_seconds_by_process(stack: Stack) -> Mapping[str, float]:
    """CPU seconds so far by name; what a database's closed sessions took is not among them."""
    roots = {name: stack.group.pid(name) for name in stack.group.names}
    roots |= {LOAD: os.getpid(), "broker": _pid(stack.backing.broker), "database": _pid(stack.backing.database)}
    return {
        name: sum(cpu_seconds(Path(f"/proc/{each}/stat")) for each in ([pid] if name == LOAD else _family(pid)))
        for name, pid in roots.items()
        if pid is not None
    }


def _pid(server: object) -> int | None:
    """Its process id, if it runs here."""
    pid = getattr(server, "pid", None)
    return pid if isinstance(pid, int) else None


def _family(pid: int) -> Iterator[int]:
    """The process and what its first thread has started, such as the database's sessions."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
        yield from _family(int(child))
