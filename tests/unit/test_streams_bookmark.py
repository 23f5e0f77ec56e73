"""What is committed beside an offset."""

from __future__ import annotations

from streams.engine.bookmark import Bookmark, read_bookmark


def test_it_is_read_back() -> None:
    """Every field survives the text."""
    bookmark = Bookmark(generation=3, base=2, bad_run=7, bad=8, seen=900)
    assert read_bookmark(bookmark.text()) == bookmark


def test_the_beginning_is_no_text() -> None:
    """While there is nothing to remember, nothing is written, and nothing is read from it."""
    assert Bookmark().text() == ""
    assert read_bookmark("") == Bookmark()


def test_the_words_of_others_are_passed_over() -> None:
    """Metadata that another tool committed, or a later version, does not stop a worker."""
    assert read_bookmark("leader=x generation=two bad=4 colour=9 =") == Bookmark(bad=4)


def test_a_generation_only_rises() -> None:
    """The setting is a floor for the generation that is committed."""
    assert Bookmark(generation=3).at_least(2).generation == 3
    assert Bookmark(generation=3).at_least(5).generation == 5
