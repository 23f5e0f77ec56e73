"""Faults in the room worker's calls: keys, look-ups, what is made, changed and removed, and what is kept for later."""

from __future__ import annotations

from tests.mutants.claims import HEALING, REBUILDS, SETTINGS, UNKNOWN, WORKERS
from tests.mutants.fault import Fault

QUEUE = "reconciler/queries/rooms.sql"
CREATING = "reconciler/rooms/creating.py"
REMOVING = "reconciler/rooms/removing.py"
LOOKUP = "reconciler/rooms/lookup.py"
DELAYS = "reconciler/rooms/delays.py"
CALLS = "reconciler/rooms/zoom.py"
SWEEPING = "reconciler/rooms/sweeping.py"
WIRE = "zoom/client/rooms.py"
TABLE = "zoom/client/decisions.py"

ROOMS = "tests/unit/test_zoom_rooms.py"
WAITS = "tests/unit/test_room_delays.py"
GATEWAY = "tests/integration/test_zoom_gateway.py"

FAULTS = (
    Fault(
        name="each call has a key of its own",
        file=CALLS,
        right="body = self._body(job.request.account_id, job.meeting.details, key=job.request.provider_key)",
        wrong="body = self._body(job.request.account_id, job.meeting.details,"
        " key=ProviderKey(f'{job.request.meeting_id}:create:{job.request.epoch % 1000}'))",
        tests=(f"{UNKNOWN}::test_room_that_was_not_made_is_made_after_looking",),
    ),
    Fault(
        name="the key stands at the agenda's end",
        file=WIRE,
        right='return f"[roomkeeper {key}]\\n{agenda}" if agenda',
        wrong='return f"{agenda}\\n[roomkeeper {key}]" if agenda',
        tests=(f"{ROOMS}::test_key_survives_the_cut_of_a_list",),
    ),
    Fault(
        name="the key is in no tracking field",
        file=WIRE,
        right="    if tracking_field:\n",
        wrong="    if not tracking_field:\n",
        tests=(f"{ROOMS}::test_tracking_field_is_sent_where_the_account_has_one",),
    ),
    Fault(
        name="a key in a tracking field is overlooked",
        file=WIRE,
        right="    for each in fields if isinstance(fields, list) and tracking_field else ():\n",
        wrong="    for each in ():\n",
        tests=(f"{ROOMS}::test_key_in_a_tracking_field",),
    ),
    Fault(
        name="a create of unknown outcome is sent again without a look",
        file=CREATING,
        right="        if job.request.may_have_acted:\n",
        wrong="        if not job.request:\n",
        tests=(f"{UNKNOWN}::test_room_that_was_made_is_found",),
    ),
    Fault(
        name="a retried create is sent without a look",
        file="reconciler/rooms/queue.py",
        right="return self.started_at is not None or self.retried",
        wrong="return self.started_at is not None",
        tests=(f"{REBUILDS}::test_room_of_a_lost_database_is_found_and_not_made_again",),
    ),
    Fault(
        name="the client itself sends a create again",
        file="zoom/client/client.py",
        right="call.endpoint not in (CREATE, REGISTER)",
        wrong="call.endpoint not in (REGISTER,)",
        tests=("tests/integration/test_zoom_client.py::test_create_of_unknown_outcome_is_not_repeated",),
    ),
    Fault(
        name="one look that finds nothing is enough",
        file=CREATING,
        right="return None if asked_at >= self._delays.settled_at(unknown_at) else",
        wrong="return None if asked_at else",
        tests=(f"{UNKNOWN}::test_room_that_was_not_made_is_made_after_looking",),
    ),
    Fault(
        name="look-ups end after a minute",
        file=SETTINGS,
        right="    settle_seconds: float = Field(\n        120.0",
        wrong="    settle_seconds: float = Field(\n        60.0",
        tests=(f"{UNKNOWN}::test_room_that_was_not_made_is_made_after_looking",),
    ),
    Fault(
        name="look-ups are not spread",
        file=DELAYS,
        right="LOOKS = (0.0, 0.1, 0.25, 0.5, 1.0)",
        wrong="LOOKS = (0.0, 1.0)",
        tests=(f"{UNKNOWN}::test_room_that_was_not_made_is_made_after_looking",),
    ),
    Fault(
        name="announced rooms are not looked at",
        file=LOOKUP,
        right="    return announced or NotFound(",
        wrong="    return NotFound(",
        tests=(f"{UNKNOWN}::test_announced_room_is_looked_at",),
    ),
    Fault(
        name="rooms announced under an earlier topic are not looked at",
        file=QUEUE,
        right="  AND (r.topic = %(topic)s OR r.host_id = budget_name(%(account_id)s, 'host', %(host)s))\n",
        wrong="  AND r.topic = %(topic)s\n",
        tests=(f"{UNKNOWN}::test_room_announced_under_an_earlier_topic_is_looked_at",),
    ),
    Fault(
        name="a listed room counts by its looks",
        file=LOOKUP,
        right="(key := calls.key_of(request.account_id, item)) is not None",
        wrong="(key := calls.key_of(request.account_id, item) or request.provider_key) is not None",
        tests=(f"{UNKNOWN}::test_room_that_was_made_is_found",),
    ),
    Fault(
        name="an announced room counts by its looks",
        file=LOOKUP,
        right="            if key is not None and is_ours(key) and room is not None:",
        wrong="            if room is not None:",
        tests=(f"{UNKNOWN}::test_announced_decoy_is_not_taken",),
    ),
    Fault(
        name="a room of another create of the meeting counts",
        file=CREATING,
        right="is_ours=lambda found: found == key)",
        wrong="is_ours=lambda found: found.startswith(job.request.meeting_id))",
        tests=(f"{UNKNOWN}::test_room_of_another_create_is_not_this_ones",),
    ),
    Fault(
        name="a list that could not be read proves that there is nothing",
        file=LOOKUP,
        right="    if not listing.complete or listing.reply.answer is None:",
        wrong="    if listing.reply.answer is None:",
        tests=(f"{UNKNOWN}::test_list_that_cannot_be_read_proves_nothing",),
    ),
    Fault(
        name="one page of a list is all of it",
        file="zoom/client/lists.py",
        right="MOST_PAGES = 100",
        wrong="MOST_PAGES = 1",
        tests=(f"{UNKNOWN}::test_look_up_reads_every_page",),
    ),
    Fault(
        name="a create goes on although the meeting has its room",
        file=CREATING,
        right="        if _is_served(job):\n",
        wrong="        if not job:\n",
        tests=(f"{HEALING}::test_sweep_finds_the_room_of_a_pending_create",),
    ),
    Fault(
        name="a create goes on although nobody wants it any more",
        file=CREATING,
        right="        if not job.wanted:\n",
        wrong="        if not job:\n",
        tests=(f"{UNKNOWN}::test_cancelled_create_that_made_nothing",),
    ),
    Fault(
        name="a room is made after the start",
        file=CREATING,
        right="        if job.meeting.details.start_at <= self._clock.now():\n",
        wrong="        if not job.meeting.details.start_at:\n",
        tests=(f"{WORKERS}::test_start_that_has_passed_makes_no_room",),
    ),
    Fault(
        name="a cancel looks for no room",
        file=REMOVING,
        right="        meeting_id = job.request.meeting_id\n        look = await look_up(",
        wrong="        meeting_id = job.request.meeting_id\n        if meeting_id:\n"
        '            return Concluded(outcome="gone")\n        look = await look_up(',
        tests=(f"{REBUILDS}::test_cancel_after_a_rebuild_finds_the_room_of_a_forgotten_create",),
    ),
    Fault(
        name="a retried cancel looks once",
        file=REMOVING,
        right="early = job.request.retried and asked_at",
        wrong="early = not job and asked_at",
        tests=(f"{REBUILDS}::test_cancel_after_a_rebuild_finds_the_room_of_a_forgotten_create",),
    ),
    Fault(
        name="a second room is deleted with people in it",
        file=REMOVING,
        right="return self._keeping.while_running(job) if seen.running else",
        wrong="return self._keeping.while_running(job) if not seen else",
        tests=(f"{HEALING}::test_running_second_room_is_left_until_it_ends",),
    ),
    Fault(
        name="Zoom's refusal to delete a running room ends its removal",
        file=TABLE,
        right='Rule("delete", "400", 3002, _D.RETRY, "in_progress")',
        wrong='Rule("delete", "400", 3002, _D.REFUSE, "in_progress")',
        tests=(f"{HEALING}::test_zooms_refusal_to_delete_a_running_room_is_honoured",),
    ),
    Fault(
        name="a room that lost its key is removed",
        file=REMOVING,
        right="        if key is None or meeting_id_of(ProviderKey(key)) != job.request.meeting_id:",
        wrong='        if key == "":',
        tests=(f"{HEALING}::test_room_that_lost_its_key_is_not_ours_to_remove",),
    ),
    Fault(
        name="a sweep tells nothing",
        file=SWEEPING,
        right="        for room in unknown:\n",
        wrong="        for room in unknown[:0]:\n",
        tests=(f"{HEALING}::test_stray_room_is_found_and_removed",),
    ),
    Fault(
        name="a sweep leaves cancelled meetings out",
        file=SWEEPING,
        right="MeetingState) for row in states)\n",
        wrong='MeetingState) for row in states)\n            if meeting.status == "scheduled"\n',
        tests=(f"{HEALING}::test_sweep_goes_on_for_cancelled_meetings",),
    ),
    Fault(
        name="a host is forgotten while a late call may make a room",
        file=QUEUE,
        right="  AND NOT EXISTS (SELECT FROM unsure_meetings AS u WHERE u.account_id = s.account_id);",
        wrong=";",
        tests=(f"{HEALING}::test_host_is_swept_while_a_late_call_may_still_make_a_room",),
    ),
    Fault(
        name="rooms are in doubt for two minutes",
        file=SETTINGS,
        right="    unsure_seconds: Seconds = Field(\n        1_200.0",
        wrong="    unsure_seconds: Seconds = Field(\n        120.0",
        tests=(f"{HEALING}::test_room_in_doubt_is_read_back_until_nothing_can_land",),
    ),
    Fault(
        name="one look ends the doubt",
        file=QUEUE,
        right="""u.until_at <= %(now)s AS is_last, m.state;

-- name: end_doubt
-- The room is as the last call left it, unless somebody put it in doubt again.
DELETE FROM unsure_meetings
WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s AND until_at <= %(now)s;
""",
        wrong="""true AS is_last, m.state;

-- name: end_doubt
-- Ends it whatever the time is.
DELETE FROM unsure_meetings
WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s AND %(now)s::timestamptz IS NOT NULL;
""",
        tests=(f"{HEALING}::test_room_in_doubt_is_read_back_until_nothing_can_land",),
    ),
    Fault(
        name="a room in doubt is read while work is pending",
        file=QUEUE,
        right="r.account_id = u.account_id AND r.meeting_id = u.meeting_id AND r.lane = ''",
        wrong="r.account_id = u.account_id AND r.meeting_id = u.meeting_id AND false",
        tests=(f"{HEALING}::test_room_in_doubt_is_not_read_while_work_is_pending",),
    ),
    Fault(
        name="a removal that waits holds read-backs up",
        file=QUEUE,
        right="r.account_id = u.account_id AND r.meeting_id = u.meeting_id AND r.lane = ''",
        wrong="r.account_id = u.account_id AND r.meeting_id = u.meeting_id",
        tests=(f"{HEALING}::test_removal_that_waits_holds_no_read_back_up",),
    ),
    Fault(
        name="an unseen update leaves no doubt",
        file="reconciler/rooms/worker.py",
        right="        if concluded.doubtful:\n",
        wrong="        if not concluded:\n",
        tests=(f"{HEALING}::test_update_that_was_silent_before_it_worked_puts_the_room_in_doubt",),
    ),
    Fault(
        name="kept work has no jitter",
        file=DELAYS,
        right="self._random.uniform(0.0, step)",
        wrong="step",
        tests=(WAITS,),
    ),
    Fault(
        name="kept work waits for ever longer",
        file=DELAYS,
        right="min(attempts - EARLY_ATTEMPTS, 40), limit)",
        wrong="min(attempts - EARLY_ATTEMPTS, 40), 2.0**60)",
        tests=(WAITS,),
    ),
    Fault(
        name="attempts are not counted",
        file=QUEUE,
        right="    attempts = r.attempts + held.counted,\n",
        wrong="",
        tests=(f"{WORKERS}::test_failed_calls_stay_with_growing_waits",),
    ),
    Fault(
        name="what Zoom asks to wait is not waited",
        file="reconciler/rooms/keeping.py",
        right="due_at=self._delays.again_at(attempts, not_before=not_before),",
        wrong="due_at=self._delays.again_at(attempts),",
        tests=("tests/acceptance/test_rooms_fallbacks.py::test_failing_calls_are_kept_for_as_long_as_zoom_asks",),
    ),
    Fault(
        name="work without a gateway waits on when the gateway is back",
        file="reconciler/rooms/worker.py",
        right='                due_at=self._clock.now(),\n                code="provider_unavailable",',
        wrong="                due_at=self._clock.now() + (self._clock.now() - request.added_at),\n"
        '                code="provider_unavailable",',
        tests=(f"{WORKERS}::test_without_a_gateway_nothing_is_lost",),
    ),
    Fault(
        name="a daily limit parks the whole account",
        file="reconciler/rooms/keeping.py",
        right='scope = "host" if reply.scope is Scope.HOST else "account"',
        wrong='scope = "account"',
        tests=(f"{GATEWAY}::test_daily_limit_parks_that_host_only",),
    ),
)
