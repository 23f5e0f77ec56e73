"""What is sealed at rest can be opened with every key that is listed, and with no other."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from runtime.cipher import Cipher, new_key
from schemas.errors import BadMessage, Misconfigured

OLD, NEW = SecretStr(new_key()), SecretStr(new_key())


def test_what_is_sealed_comes_back() -> None:
    """Sealing and opening give the same bytes, whatever they are."""
    assert Cipher([NEW]).open(Cipher([NEW]).seal(b"\xff\x00")) == b"\xff\x00"


def test_what_is_sealed_does_not_show() -> None:
    """The sealed bytes do not hold the plain ones."""
    assert b"passcode" not in Cipher([NEW]).seal(b"passcode")


def test_an_old_key_opens_and_the_newest_seals() -> None:
    """After a new key is put first, old values open still, and new ones need the new key."""
    both = Cipher([NEW, OLD])
    assert both.open(Cipher([OLD]).seal(b"x")) == b"x"
    assert Cipher([NEW]).open(both.seal(b"y")) == b"y"


def test_a_value_of_another_key_is_a_bad_message() -> None:
    """What no listed key has sealed, or what was damaged, is a bad message."""
    with pytest.raises(BadMessage):
        Cipher([NEW]).open(Cipher([OLD]).seal(b"x"))


@pytest.mark.parametrize("keys", [[], [SecretStr("short")], [NEW, SecretStr("!" * 44)]])
def test_keys_that_cannot_be_are_named(keys: list[SecretStr]) -> None:
    """No key, or one that is none, is a misconfiguration that names the setting."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_SECURITY__ENCRYPTION_KEYS"):
        Cipher(keys)
