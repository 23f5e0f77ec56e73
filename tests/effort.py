"""How hard property tests try: two fifths of their examples in `make test`, the same each time, so that a failure is the change's.

`--hypothesis-profile=thorough` tries all of them, at random; `make mutants` does.
"""

from __future__ import annotations

from hypothesis import settings

QUICK, THOROUGH = "quick", "thorough"
WHOLE = 100


def register() -> None:
    """Make the profiles known, and the quick one the default. Comes before the first test module."""
    settings.register_profile(QUICK, max_examples=2 * WHOLE // 5, deadline=None, derandomize=True)
    settings.register_profile(THOROUGH, max_examples=WHOLE, deadline=None)
    settings.load_profile(QUICK)


def examples(count: int) -> settings:
    """Settings of a test that takes so many examples when it tries hard."""
    return settings(max_examples=max(5, count * settings().max_examples // WHOLE))
