"""How often Python looks for dead objects that refer to each other.

Reference counts free what records leave behind; the collector is there for the rare cycle. By default it looks after
every 700 objects that stay, and walks every cached entry and row again and again to find nothing.
"""

from __future__ import annotations

import gc

OBJECTS_BETWEEN = 50_000
"""So many more containers made than freed, and the youngest are looked at: some megabytes."""


def collect_seldom() -> None:
    """For processes that hold many records: what was imported is never looked at again, the rest seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN, 20, 20)
