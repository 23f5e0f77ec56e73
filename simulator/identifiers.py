"""Identifiers in Zoom's forms, drawn from a seed.

One uuid in ten starts with `/` or holds `//`, the two forms that must be encoded twice in a path.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

from runtime.randomness import Random

_AWKWARD_SHARE = 0.1
_FIRST_USER = 16_778_240
_USER_STEP = 1_024


class Identifiers:
    """Draws identifiers; none is drawn twice by one seed."""

    def __init__(self, random: Random) -> None:
        """`random` decides everything."""
        self._random = random
        self._numbers: set[int] = set()

    def meeting_number(self) -> int:
        """Eleven digits that no room has had."""
        while (number := self._random.randrange(90_000_000_000, 99_000_000_000)) in self._numbers:
            pass
        self._numbers.add(number)
        return number

    def uuid(self) -> str:
        """Base64 of sixteen bytes, `/` and `+` included."""
        raw = bytearray(self._random.randbytes(16))
        if self._random.random() < _AWKWARD_SHARE:
            # Twelve bits of ones at the start are `//`, six are one leading `/`.
            raw[0], raw[1] = 0xFF, raw[1] | (0xF0 if self._random.random() < 0.5 else 0)
        return b64encode(raw).decode()

    def opaque(self, length: int = 22) -> str:
        """Letters, digits, `-` and `_`: host, account and registrant ids, tokens, secrets."""
        return urlsafe_b64encode(self._random.randbytes(length)).decode()[:length]

    def guid(self) -> str:
        """Dashed groups of hexadecimal digits in capitals, as participants have."""
        return self._groups("-").upper()

    def request_id(self) -> str:
        """`8_4_4_4_12` hexadecimal digits."""
        return self._groups("_")

    def digits(self, count: int) -> str:
        """Decimal digits."""
        return str(self._random.randrange(10 ** (count - 1), 10**count))

    def hexadecimal(self, count: int) -> str:
        """Hexadecimal digits."""
        return self._random.randbytes(count).hex()[:count]

    def _groups(self, between: str) -> str:
        digits = self._random.randbytes(16).hex()
        return between.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def user_id(ordinal: int) -> str:
    """The id of the n-th connection of one run; a rejoin is a new one."""
    return str(_FIRST_USER + ordinal * _USER_STEP)
