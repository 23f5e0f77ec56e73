"""What people will do in a room: a scenario, and the script that chance writes from it.

A script is pure: offsets in Zoom's own seconds, to be divided by the speed when played. Zoom's times are whole seconds,
so what one connection does in one true second has no order to be told; a visit to the lobby needs such an order, and is
left out of meetings too short for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from runtime.randomness import Random
from simulator.model import Person

_LEAST_GAPS = 12
_PAUSE_SECONDS = 60.0
_STAYING_SHARE = 0.3


class Act(StrEnum):
    """What a step does."""

    START = "start"
    END = "end"
    JOIN = "join"
    LEAVE = "leave"
    WAIT = "wait"
    ADMIT = "admit"
    BREAKOUT = "breakout"
    RECORD = "record"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SHARE = "share"
    UNSHARE = "unshare"
    FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happens at an offset; steps with equal offsets happen in the same moment."""

    at_seconds: float
    act: Act
    line: str = ""
    """Names a connection within the script."""
    person: Person | None = None
    """Whose new connection the line is."""
    within: str = ""
    """The main room's connection that moves to the breakout room."""
    breakout: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a script shall hold."""

    people: int = 5
    minutes: float = 45.0
    rejoins: int = 1
    dropped: int = 1
    """People whose client dies: the old connection's end is noticed after the new one's start."""
    second_devices: int = 1
    lobbies: int = 1
    breakouts: int = 1
    same_second: int = 1
    """Pairs of people who leave in the same second."""
    anonymous: int = 1
    """Guests without any identifier; they come once."""
    restarts: int = 0
    recorded: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """When one guest comes, is in the middle of the meeting, and goes."""

    arrives: float
    middle: float
    resumes: float
    departs: float | None
    """None: stays until the end."""


def write(scenario: Scenario, *, cast: Sequence[Person], random: Random, gap_seconds: float) -> tuple[Step, ...]:
    """The script, in order. `cast` begins with the host; offsets `gap_seconds` apart are in different true seconds."""
    steps: list[Step] = []
    begins = 0.0
    length = scenario.minutes * 60 / (scenario.restarts + 1)
    if length < gap_seconds * _LEAST_GAPS:
        scenario, gap_seconds = replace(scenario, lobbies=0), length / _LEAST_GAPS
    for run in range(scenario.restarts + 1):
        present = cast if run == 0 else [person for person in cast if person.identity is not None]
        steps += _run(scenario, cast=present, random=random, gap=gap_seconds, begins=begins, length=length, run=run)
        begins += length + _PAUSE_SECONDS
    return tuple(sorted(steps, key=lambda step: step.at_seconds))


def _run(
    scenario: Scenario,
    *,
    cast: Sequence[Person],
    random: Random,
    gap: float,
    begins: float,
    length: float,
    run: int,
) -> list[Step]:
    host, *guests = cast
    ends = begins + length
    steps = [Step(at_seconds=begins, act=Act.START), Step(at_seconds=ends, act=Act.END)]
    host_line = f"{run}/{host.key}"
    steps.append(Step(at_seconds=begins + gap, act=Act.JOIN, line=host_line, person=host))
    parts = _parts(scenario, [guest for guest in guests if guest.identity is not None], random)
    together = begins + length * 0.85
    paired = 2 * scenario.same_second
    for guest in guests:
        part = parts.get(guest.key, _plain)
        stretch = _stretch(random, gap=gap, begins=begins, length=length)
        if part is _plain and paired > 0:
            stretch, paired = replace(stretch, departs=together), paired - 1
        steps += part(guest, f"{run}/{guest.key}", stretch, gap)
    if scenario.recorded:
        steps += _recording(begins, length)
    if scenario.shared:
        steps.append(Step(at_seconds=begins + length * 0.3, act=Act.SHARE, line=host_line))
        steps.append(Step(at_seconds=begins + length * 0.5, act=Act.UNSHARE, line=host_line))
    return steps


_Part = Callable[[Person, str, _Stretch, float], list[Step]]


def _parts(scenario: Scenario, known: Sequence[Person], random: Random) -> dict[str, _Part]:
    wanted: tuple[tuple[_Part, int], ...] = (
        (_rejoin, scenario.rejoins),
        (_dropped, scenario.dropped),
        (_second_device, scenario.second_devices),
        (_lobby, scenario.lobbies),
        (_breakout, scenario.breakouts),
    )
    parts = [part for part, count in wanted for _ in range(count)]
    players = random.sample(list(known), k=min(len(parts), len(known)))
    return {player.key: part for player, part in zip(players, parts, strict=False)}


def _stretch(random: Random, *, gap: float, begins: float, length: float) -> _Stretch:
    middle = begins + length * random.uniform(0.55, 0.6)
    return _Stretch(
        arrives=begins + 2 * gap + length * random.uniform(0.0, 0.2),
        middle=middle,
        resumes=middle + gap + length * random.uniform(0.0, 0.08),
        departs=None if random.random() < _STAYING_SHARE else begins + length * random.uniform(0.8, 0.95),
    )


def _plain(person: Person, line: str, stretch: _Stretch, _gap: float) -> list[Step]:
    return [_join(person, line, stretch.arrives), *_leave(line, stretch.departs)]


def _rejoin(person: Person, line: str, stretch: _Stretch, _gap: float) -> list[Step]:
    again = f"{line}/again"
    first = [_join(person, line, stretch.arrives), *_leave(line, stretch.middle)]
    return [*first, _join(person, again, stretch.resumes), *_leave(again, stretch.departs)]


def _dropped(person: Person, line: str, stretch: _Stretch, _gap: float) -> list[Step]:
    again = f"{line}/again"
    joins = [_join(person, line, stretch.arrives), _join(person, again, stretch.middle)]
    return [*joins, *_leave(line, stretch.resumes), *_leave(again, stretch.departs)]


def _second_device(person: Person, line: str, stretch: _Stretch, _gap: float) -> list[Step]:
    phone = f"{line}/phone"
    joins = [_join(person, line, stretch.arrives), _join(person, phone, stretch.middle)]
    return [*joins, *_leave(line, stretch.departs), *_leave(phone, stretch.departs)]


def _lobby(person: Person, line: str, stretch: _Stretch, gap: float) -> list[Step]:
    return [
        Step(at_seconds=stretch.arrives, act=Act.WAIT, line=line, person=person),
        Step(at_seconds=stretch.arrives + gap, act=Act.ADMIT, line=line),
        Step(at_seconds=stretch.middle, act=Act.WAIT, line=line),
        Step(at_seconds=stretch.resumes, act=Act.ADMIT, line=line),
        *_leave(line, stretch.departs),
    ]


def _breakout(person: Person, line: str, stretch: _Stretch, _gap: float) -> list[Step]:
    room = f"{line}/breakout"
    return [
        _join(person, line, stretch.arrives),
        Step(at_seconds=stretch.middle, act=Act.BREAKOUT, line=room, breakout=1, within=line),
        Step(at_seconds=stretch.resumes, act=Act.LEAVE, line=room),
        *_leave(line, stretch.departs),
    ]


def _recording(begins: float, length: float) -> list[Step]:
    shares = ((0.1, Act.RECORD), (0.3, Act.PAUSE), (0.4, Act.RESUME), (0.9, Act.STOP), (1.2, Act.FILES))
    return [Step(at_seconds=begins + length * share, act=act) for share, act in shares]


def _join(person: Person, line: str, at_seconds: float) -> Step:
    return Step(at_seconds=at_seconds, act=Act.JOIN, line=line, person=person)


def _leave(line: str, at_seconds: float | None) -> list[Step]:
    return [] if at_seconds is None else [Step(at_seconds=at_seconds, act=Act.LEAVE, line=line)]
