"""Who is who within one run: connections make groups, groups make persons.

A group is what was linked: breakout rooms to the connection they were entered from, a bound phone to its owner, even
if that one was never seen. A person is a group's strongest identifier; a weaker one that is seen beside exactly one
stronger is that person too (a laptop by registrant, a phone by the same e-mail). Names identify nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from schemas.rooms.connections import IDENTIFIERS, Connection

Person = tuple[str, str]
"""Kind of identifier (or `connection`) and its value."""


def persons(connections: Sequence[Connection]) -> list[Person]:
    """The person of each connection, in the same order."""
    roots = _roots(connections)
    groups: dict[str, set[Person]] = defaultdict(set)
    for connection, root in zip(connections, roots, strict=True):
        groups[root].update(connection.identifiers.items())
    strongest = {root: _strongest(root, identifiers) for root, identifiers in groups.items()}
    resolved = _resolved(groups, strongest)
    return [resolved.get(strongest[root], strongest[root]) for root in roots]


def _strongest(root: str, identifiers: set[Person]) -> Person:
    for kind in IDENTIFIERS:
        values = [value for each, value in identifiers if each == kind]
        if values:
            return kind, min(values)
    return "connection", root


def _resolved(groups: Mapping[str, set[Person]], strongest: Mapping[str, Person]) -> dict[Person, Person]:
    """Weaker identifiers that are somebody: from the stronger kinds down, so that what is found serves the next."""
    resolved: dict[Person, Person] = {}
    for rank, kind in enumerate(IDENTIFIERS[1:], start=1):
        beside: dict[Person, set[Person]] = defaultdict(set)
        for root, identifiers in groups.items():
            person = strongest[root]
            if person[0] in IDENTIFIERS[:rank]:
                for each in identifiers:
                    if each[0] == kind:
                        beside[each].add(resolved.get(person, person))
        resolved.update({weak: next(iter(strong)) for weak, strong in beside.items() if len(strong) == 1})
    return resolved


def _roots(connections: Sequence[Connection]) -> list[str]:
    """The group of each connection: the least user id that links lead to."""
    parents: dict[str, str] = {}

    def root_of(user_id: str) -> str:
        while parents.setdefault(user_id, user_id) != user_id:
            parents[user_id] = parents[parents[user_id]]
            user_id = parents[user_id]
        return user_id

    for connection in connections:
        for link in connection.links:
            least, other = sorted((root_of(connection.user_id), root_of(link)))
            parents[other] = least
    return [root_of(connection.user_id) for connection in connections]
