"""Encryption at rest, for what must be kept and cannot be cleaned of secrets: tokens, and bodies that cannot be read.

Fernet (AES-128-CBC with HMAC-SHA256). The first key seals, every key opens, so a key is replaced by putting a new one
before it. A record whose value is sealed says so in the header `roomkeeper-sealed`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

from schemas.errors import BadMessage, Misconfigured

SEALED_HEADER = "roomkeeper-sealed"
SEALED_WITH = b"fernet"

_SETTING = "ROOMKEEPER_SECURITY__ENCRYPTION_KEYS"


class Cipher:
    """Seals and opens bytes."""

    def __init__(self, keys: Sequence[SecretStr]) -> None:
        """The newest key first.

        Raises:
            Misconfigured: there is no key, or one is not a Fernet key.
        """
        if not keys:
            raise Misconfigured(f"{_SETTING}: not set; `roomkeeper keys new-encryption-key` makes one")
        try:
            self._keys = MultiFernet([Fernet(key.get_secret_value()) for key in keys])
        except ValueError as error:
            raise Misconfigured(f"{_SETTING}: each must be 32 bytes in URL-safe base64") from error

    def seal(self, plain: bytes) -> bytes:
        """The bytes, readable only with a key; about a third longer."""
        return self._keys.encrypt(plain)

    def open(self, sealed: bytes) -> bytes:
        """What was sealed.

        Raises:
            BadMessage: not sealed with any of the keys, or damaged.
        """
        try:
            return self._keys.decrypt(sealed)
        except InvalidToken as error:
            raise BadMessage(f"sealed with a key that {_SETTING} does not hold, or damaged") from error


def new_key() -> str:
    """A fresh key, as the setting wants it."""
    return Fernet.generate_key().decode()
