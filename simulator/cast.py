"""Who takes part: the host, people registered for the room, known guests of each kind, and anonymous ones.

Names and addresses are invented; every known person has one set of identifiers, however often he or she connects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simulator.model import Host, Person, Registrant

_NAMES = ("Ada", "Björn", "Chloé", "Dariusz", "Eleni", "Françoise", "Gökhan", "Hana", "Íris", "Jürgen", "Kōji", "Łucja")


def assemble(*, host: Host, registrants: Iterable[Registrant], known: int, anonymous: int) -> list[Person]:
    """The host first, then registrants and others up to `known` people, then the anonymous ones."""
    people = [_registered(each) for each in registrants if each.status == "approved"][:known]
    people += [_guest(ordinal) for ordinal in range(1, known - len(people) + 1)]
    strangers = [_stranger(ordinal) for ordinal in range(1, anonymous + 1)]
    return [of_host(host), *people, *strangers]


def of_host(host: Host) -> Person:
    """The host as a participant."""
    return Person(key=f"host:{host.host_id}", name=host.name, email=host.email, zoom_user_id=host.host_id)


def _registered(registrant: Registrant) -> Person:
    name = f"{registrant.first_name} {registrant.last_name}".strip()
    return Person(
        key=f"registrant:{registrant.registrant_id}",
        name=name,
        email=registrant.email,
        registrant_id=registrant.registrant_id,
    )


def _guest(ordinal: int) -> Person:
    # The number keeps every name apart, so that a reader of a table can tell people by it.
    name = f"{_NAMES[ordinal % len(_NAMES)]} {ordinal:02d}"
    guest = Person(key=f"guest:{ordinal}", name=name)
    email = f"guest-{ordinal:02d}@example.com"
    kinds = (
        replace(guest, email=email),
        replace(guest, email=email, zoom_user_id=f"Member{ordinal:02d}ExampleNeutral"),
        replace(guest, customer_key=f"ck-{ordinal:04d}"),
    )
    return kinds[ordinal % len(kinds)]


def _stranger(ordinal: int) -> Person:
    if ordinal % 2:
        return Person(key=f"stranger:{ordinal}", name=f"Guest {ordinal:02d}")
    number = f"1555{ordinal:04d}"
    return Person(key=f"stranger:{ordinal}", name=number, phone_number=number)
