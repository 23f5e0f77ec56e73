"""What is committed with an offset, as its metadata: it is read by whoever takes the partition over.

A few words `name=number`; none of them is written while everything is as it was in the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Counts and generation of one partition of a source topic."""

    generation: int = 0
    """Of the revisions that are written; a refold raises it."""
    base: int = 0
    """Entries of lower generations count as absent: a refold makes them anew."""
    bad_run: int = 0
    """Bad messages in a row up to this offset."""
    bad: int = 0
    """Bad messages in the window that is open."""
    seen: int = 0
    """Messages in that window."""

    def text(self) -> str:
        """The metadata."""
        return " ".join(f"{name}={value}" for name in _names() if (value := getattr(self, name)))

    def at_least(self, generation: int) -> Bookmark:
        """With its generation raised to this one."""
        return replace(self, generation=max(self.generation, generation))


def read_bookmark(text: str) -> Bookmark:
    """What `Bookmark.text` wrote; words of others are passed over."""
    words = dict(word.partition("=")[::2] for word in text.split())
    return Bookmark(**{name: int(words[name]) for name in _names() if words.get(name, "").isdigit()})


def _names() -> tuple[str, ...]:
    return tuple(each.name for each in fields(Bookmark))
