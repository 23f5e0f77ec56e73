"""Faults in the fold of rooms: what each does wrong, and the one place where it is planted."""

from __future__ import annotations

from tests.mutants.fault import Fault

LATTICE = "streams/rooms/lattice.py"
FACT = "streams/rooms/fact.py"
EXISTENCE = "streams/rooms/existence.py"
STAYS = "schemas/rooms/stays.py"
PERSONS = "schemas/rooms/persons.py"
RUNS = "schemas/rooms/runs.py"
ATTENDANCE = "schemas/rooms/attendance.py"
ROOM = "schemas/rooms/room.py"

FAULTS = (
    Fault(
        name="drop the guard: the last to arrive wins", file=LATTICE, right="present[0] > register[0]", wrong="False"
    ),
    Fault(
        name="an equal value is no change",
        file=LATTICE,
        right="if present[0] > register[0]:",
        wrong="if present[0] > register[0] or present[1] == register[1]:",
    ),
    Fault(
        name="set once",
        file=LATTICE,
        right="if present is not None:\n            if",
        wrong="if present is not None:\n            continue\n            if",
    ),
    Fault(
        name="copies of one event: the first to arrive wins",
        file=LATTICE,
        right="and not _is_greater(register[1], present[1])",
        wrong="and True",
    ),
    Fault(name="maxima take the last", file=LATTICE, right="number > present:", wrong="number != present:"),
    Fault(name="the oldest points are kept", file=LATTICE, right="[-POINTS_KEPT:]", wrong="[:POINTS_KEPT]"),
    Fault(name="every 404 counts", file=LATTICE, right="_GONE_BUCKET_MS = 300_000", wrong="_GONE_BUCKET_MS = 1"),
    Fault(name="a point replaces its set", file=LATTICE, right="{*present, *members}", wrong="{*members}"),
    Fault(
        name="expired entries rise again",
        file=LATTICE,
        right="if EXPIRED in maxima or EXPIRED in state.maxima:",
        wrong="if EXPIRED in maxima:",
    ),
    Fault(
        name="a poll outranks a webhook",
        file=FACT,
        right='"1" if self.is_webhook else "0"',
        wrong='"0" if self.is_webhook else "1"',
    ),
    Fault(
        name="an echo is as good as the room's own word",
        file=FACT,
        right='return f"0{self.clock[1:]}"',
        wrong="return self.clock",
    ),
    Fault(name="a poll counts when it was sent", file=FACT, right="POLL_MARGIN_MS = 5_000", wrong="POLL_MARGIN_MS = 0"),
    Fault(
        name="a poll counts by our clock alone",
        file=FACT,
        right="sent = min(sent, answered - elapsed)",
        wrong="sent = min(sent, sent)",
    ),
    Fault(
        name="times from the future pin registers",
        file=FACT,
        right="time > self.latest",
        wrong="time > self.latest * 2",
    ),
    Fault(name="no time sorts after every time", file=FACT, right='NO_TIME = "-" * 13', wrong='NO_TIME = "9" * 13'),
    Fault(
        name="updates count as of their delivery",
        file=EXISTENCE,
        right='fact.own_time(fact.payload.get("time_stamp"), "time_stamp") or fact.time',
        wrong="fact.time",
    ),
    Fault(
        name="a blank in an update is absent",
        file=EXISTENCE,
        right="elif name not in _APART:",
        wrong='elif name not in _APART and value != "":',
    ),
    Fault(
        name="settings are one value",
        file=EXISTENCE,
        right='if name == "settings" and isinstance(value, dict):',
        wrong='if name == "nothing" and isinstance(value, dict):',
    ),
    Fault(
        name="a deletion beats a recovery of the same moment",
        file=EXISTENCE,
        right='"deleted": 2, "recovered": 3',
        wrong='"deleted": 3, "recovered": 2',
    ),
    Fault(
        name="one date deleted is the series deleted",
        file=EXISTENCE,
        right="    dates = sorted(_ids(_dates(fact.subject)))\n    if not dates",
        wrong="    dates: list[str] = []\n    if not dates",
    ),
    Fault(
        name="`single` without a date deletes the series",
        file=EXISTENCE,
        right="        return None\n    return dates",
        wrong="        return []\n    return dates",
    ),
    Fault(
        name="dates only in the old object stay",
        file=EXISTENCE,
        right="gone = _ids(_dates(_old(fact))) - _ids(dates)",
        wrong="gone: set[str] = set()",
    ),
    Fault(
        name="an update of some dates is the series'",
        file=EXISTENCE,
        right='of_dates = fact.payload.get("scope") in {"single", "range"} and',
        wrong="of_dates = False and",
    ),
    Fault(
        name="some date that changed asks for nothing",
        file=EXISTENCE,
        right="    if not dates and fact.time is not None:",
        wrong="    if False and fact.time is not None:",
    ),
    Fault(
        name="`all` concerns the dates that it names",
        file=EXISTENCE,
        right='if fact.payload.get("operation") == "all":',
        wrong="if False:",
    ),
    Fault(
        name="a poll that lists some dates lists all",
        file="streams/rooms/observations.py",
        right='if _observed(fact).get("every_occurrence"):',
        wrong="if True:",
    ),
    Fault(
        name="a failed poll proves the room",
        file="streams/rooms/observations.py",
        right='    if not _is(fact, *OK_STATUSES):\n        return [Delta(fact, "room"',
        wrong='    if False:\n        return [Delta(fact, "room"',
    ),
    Fault(
        name="the end of a run proves its room",
        file="streams/rooms/runs.py",
        right="maxima=heard(fact, proves=False, ended=1)",
        wrong="maxima=heard(fact, proves=True, ended=1)",
    ),
    Fault(
        name="waiting in the lobby starts a run",
        file="streams/rooms/participants.py",
        right='return _outside(fact, "lobby_in", "date_time")',
        wrong='return _inside(fact, "lobby_in", "date_time")',
    ),
    Fault(
        name="a later run restarts the first",
        file="streams/rooms/runs.py",
        right='return f"{carrier}{LATEST_MS - time:013d}", time',
        wrong='return f"{carrier}{time:013d}", time',
    ),
    Fault(
        name="a participant tells the start better than `ended`",
        file="streams/rooms/runs.py",
        right="BY_PARTICIPANT = 1",
        wrong="BY_PARTICIPANT = 3",
    ),
    Fault(
        name="the first end told stays",
        file="streams/rooms/runs.py",
        right='f"{fact.rank}{fact.time_text()}{time:013d}"',
        wrong='f"{fact.rank}{LATEST_MS - (fact.time or 0):013d}{time:013d}"',
    ),
    Fault(
        name="waiting for the host starts a run",
        file="streams/rooms/participants.py",
        right="_connection(fact, points, time_field, {}, heard(fact, proves=True))]",
        wrong="_connection(fact, points, time_field, {}, heard(fact, proves=True, started=1))]",
    ),
    Fault(
        name="a blank erases a name",
        file="streams/rooms/delta.py",
        right='if value is not None and value != "":\n            registers',
        wrong="if value is not None:\n            registers",
    ),
    Fault(
        name="outputs only for what was applied",
        file="streams/rooms/fold.py",
        right="return Folded(outcome, {entry.identity.key: entry}, (output,))",
        wrong='return Folded(outcome, {entry.identity.key: entry}, (output,) if outcome == "applied" else ())',
    ),
    Fault(
        name="the revision counts, it is no offset",
        file="streams/rooms/fold.py",
        right="revision_bytes(generation, record.offset)",
        wrong="revision_bytes(generation, 7)",
    ),
    Fault(
        name="events nobody knows are dropped",
        file="streams/rooms/deltas.py",
        right="observations.is_complete(fact):\n        return handler(fact)\n    return [_kept(fact)]",
        wrong="observations.is_complete(fact):\n        return handler(fact)\n    return []",
    ),
    Fault(
        name="a lobby is still the room",
        file=STAYS,
        right="        if self.inside is not None:\n            self._end(time)\n        self._lobby, self._let_out = True, None",
        wrong="        self._lobby, self._let_out = True, None",
    ),
    Fault(
        name="whoever leaves the lobby is in the room",
        file=STAYS,
        right="            self._lobby, self._let_out = False, time",
        wrong="            self._join(time, breakout_room)",
    ),
    Fault(
        name="a second join begins another stay",
        file=STAYS,
        right="        if self.inside is None:\n            self.inside = Stay",
        wrong="        self._end(time)\n        if self.inside is None:\n            self.inside = Stay",
    ),
    Fault(name="reversed ends stay open", file=STAYS, right="REVERSED_MS = 10_000", wrong="REVERSED_MS = -1"),
    Fault(
        name="rows of a report close nothing",
        file=STAYS,
        right="if stay.left is None and end is not None else stay",
        wrong="if stay.left is None and False else stay",
    ),
    Fault(
        name="an absence that only rows of a report show is forgotten",
        file=STAYS,
        right="if stay.joined <= until < joined:",
        wrong="if until < 0 < joined < 0:",
    ),
    Fault(
        name="rows of a report are added beside what was heard",
        file=STAYS,
        right="if not any(shows(stay, joined, left) for stay in stays)",
        wrong="if True",
    ),
    Fault(
        name="breakout rooms are other people",
        file=PERSONS,
        right="for link in connection.links:",
        wrong="for link in ():",
    ),
    Fault(name="an e-mail of two is one of them", file=PERSONS, right="if len(strong) == 1", wrong="if strong"),
    Fault(
        name="key by name",
        file="schemas/rooms/connections.py",
        right='IDENTIFIERS = ("registrant_id", "user", "customer_key", "email")',
        wrong='IDENTIFIERS = ("registrant_id", "user", "customer_key", "email", "name")',
    ),
    Fault(
        name="a masked e-mail is a person",
        file="schemas/rooms/connections.py",
        right="and not _MASKED.search(email)",
        wrong="and True",
    ),
    Fault(
        name="count instead of compute: stays are summed",
        file=ATTENDANCE,
        right="begin = start if reach is None else max(start, reach)",
        wrong="begin = start",
    ),
    Fault(
        name="an open stay goes on after the end",
        file=ATTENDANCE,
        right="run.ended_at if stay.left is None else stay.left)",
        wrong="stay.joined if stay.left is None else stay.left)",
    ),
    Fault(
        name="what comes after the end counts",
        file=ATTENDANCE,
        right="None if stay.joined > run.ended_at else min(",
        wrong="stay.left if stay.left and stay.left > run.ended_at else min(",
    ),
    Fault(
        name="a missing end is never inferred",
        file=RUNS,
        right="if run.ended_at is not None or following_start is None:",
        wrong="if True:",
    ),
    Fault(
        name="a late start reopens a run",
        file=RUNS,
        right='status="ended" if ended else "started" if started else "unknown"',
        wrong='status="started" if started else "ended" if ended else "unknown"',
    ),
    Fault(
        name="three 404s are outdone by nothing",
        file=ROOM,
        right="if since is not None and since > proof:",
        wrong="if since is not None:",
    ),
    Fault(
        name="a deletion is for ever",
        file=ROOM,
        right='== "deleted" and stated_at(entry) >= proof',
        wrong='== "deleted"',
    ),
    Fault(
        name="a permanent deletion is not",
        file=ROOM,
        right='    if "permanently_deleted" in entry.maxima:\n        return "permanently_deleted"\n',
        wrong="",
    ),
    Fault(
        name="a whole list leaves old dates",
        file=ROOM,
        right="not final and proof >= listed and",
        wrong="not final and",
    ),
    Fault(
        name="an event's id follows its delivery",
        file="zoom/webhooks/event_ids.py",
        right="        own = _own(body, who.get(",
        wrong="        own = _event_ts(body) + _own(body, who.get(",
    ),
    Fault(
        name="an event's id names no breakout room",
        file="zoom/webhooks/event_ids.py",
        right='"meeting.participant_joined_breakout_room": _participant(_breakout_room)',
        wrong='"meeting.participant_joined_breakout_room": _participant()',
    ),
    Fault(
        name="secrets hide in nested objects",
        file="zoom/webhooks/redaction.py",
        right="            cleaned = _clean(value, depth)",
        wrong="            cleaned = value",
    ),
)
"""Each on its own must fail a test; `docs/testing.md` lists them."""
