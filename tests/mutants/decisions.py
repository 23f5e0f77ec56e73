"""Faults in what the stream decides about room work: which there is, what replaces it, and what reports change."""

from __future__ import annotations

from tests.mutants.claims import HEALING, PROJECTION, UNKNOWN
from tests.mutants.fault import Fault

DRAFT = "streams/meetings/draft.py"
PLANNING = "streams/meetings/planning.py"
OUTCOMES = "streams/meetings/outcomes.py"
ANSWERING = "streams/meetings/answering.py"

WORK = "tests/unit/test_room_work.py"

FAULTS = (
    Fault(
        name="n counts what is pending",
        file=DRAFT,
        right="n = self.state.last_n + 1",
        wrong="n = len(self.state.pending) + 1",
        tests=(f"{WORK}::test_newer_update_replaces_older_ones",),
    ),
    Fault(
        name="updates queue up",
        file=PLANNING,
        right="for work in draft.pending(UPDATE))\n    draft.drop_all(UPDATE)\n",
        wrong="for work in draft.pending(UPDATE))\n",
        tests=(f"{WORK}::test_newer_update_replaces_older_ones",),
    ),
    Fault(
        name="a cancel leaves the create",
        file=PLANNING,
        right="    draft.drop_all(CREATE)\n    draft.drop_all(UPDATE)\n    room = draft.state.room\n",
        wrong="    draft.drop_all(UPDATE)\n    room = draft.state.room\n",
        tests=(f"{WORK}::test_cancel_before_any_call_discards_the_create",),
    ),
    Fault(
        name="a cancel before there is a room looks for none",
        file=PLANNING,
        right="    started = bool(draft.pending(CREATE))\n",
        wrong="    started = False\n",
        tests=(f"{UNKNOWN}::test_cancelled_while_its_create_is_in_doubt",),
    ),
    Fault(
        name="a create that fails leaves its updates",
        file=OUTCOMES,
        right='        case ("create", _) if wanted:\n            draft.drop_all(UPDATE)\n',
        wrong='        case ("create", _) if wanted:\n',
        tests=(f"{WORK}::test_failed_create_drops_the_updates",),
    ),
    Fault(
        name="an ignored outcome is not answered",
        file="streams/meetings/fold.py",
        right="entries={_answer_key(command): answer, **changed}, outputs=(event,))",
        wrong="entries={_answer_key(command): answer, **changed},"
        ' outputs=() if answer.event_kind == "outcome_ignored" else (event,))',
        tests=(f"{WORK}::test_outcome_of_a_create_whose_room_a_sweep_found",),
    ),
    Fault(
        name="an answer does not name its epoch",
        file=ANSWERING,
        right="epoch=report.epoch if report else None",
        wrong="epoch=None",
        tests=(f"{PROJECTION}::test_started_update_stays_beside_its_successor",),
    ),
    Fault(
        name="an outcome for a meeting that nobody knows is not answered by its epoch",
        file=ANSWERING,
        right="releases=report is not None and releases(report),",
        wrong="releases=report is not None and meeting is not None and releases(report),",
        tests=(f"{WORK}::test_report_about_a_meeting_that_nobody_knows_is_answered",),
    ),
    Fault(
        name="a late report ends the row",
        file=ANSWERING,
        right='return report.kind == "outcome" and report.outcome != PROVIDER_UNAVAILABLE',
        wrong="return report.outcome != PROVIDER_UNAVAILABLE",
        tests=(f"{PROJECTION}::test_what_deletes_nothing",),
    ),
    Fault(
        name="a missing gateway ends the row",
        file=ANSWERING,
        right='return report.kind == "outcome" and report.outcome != PROVIDER_UNAVAILABLE',
        wrong='return report.kind == "outcome"',
        tests=(f"{PROJECTION}::test_what_deletes_nothing",),
    ),
    Fault(
        name="a late report is no reason for an update",
        file=OUTCOMES,
        right="and not needs_room(state):\n        plan_update(draft, repair=True)",
        wrong="and not needs_room(state):\n        pass",
        tests=(f"{WORK}::test_late_update_makes_a_new_update_that_replaces_the_pending_one",),
    ),
    Fault(
        name="an earlier call's success does away with the repair of a late one",
        file=OUTCOMES,
        right="        if not work.repair:\n",
        wrong="        if work:\n",
        tests=(f"{WORK}::test_late_update_makes_a_new_update_that_replaces_the_pending_one",),
    ),
    Fault(
        name="a repair is forgotten when a change replaces it",
        file=PLANNING,
        right="    repair = repair or any(work.repair for work in draft.pending(UPDATE))\n",
        wrong="    repair = repair or not any(True for work in draft.pending(UPDATE))\n",
        tests=(f"{WORK}::test_update_replaced_by_a_change_keeps_what_it_had_to_repair",),
    ),
    Fault(
        name="a read-back that differs is left",
        file=OUTCOMES,
        right="    if news and idle and command.differences and",
        wrong="    if not news and idle and command.differences and",
        tests=(f"{HEALING}::test_late_call_that_lands_is_undone",),
    ),
    Fault(
        name="details that Zoom refuses are sent at each read-back",
        file=OUTCOMES,
        right="    if news and idle and command.differences and",
        wrong="    if idle and command.differences and",
        tests=(f"{WORK}::test_read_back_that_is_no_reason_to_write",),
    ),
    Fault(
        name="a removal that waits keeps a room in doubt as it is",
        file=OUTCOMES,
        right="    idle = all(work.action == REMOVE for work in state.pending)\n    # Details",
        wrong="    idle = not state.pending\n    # Details",
        tests=(f"{WORK}::test_read_back_beside_a_removal_makes_an_update",),
    ),
    Fault(
        name="the room of a pending create is a second one",
        file=OUTCOMES,
        right="    elif _may_adopt(state) and room.host == state.details.host:\n",
        wrong="    elif command.kind == OUTCOME and room.host == state.details.host:\n",
        tests=(f"{WORK}::test_sweep_finds_the_room_of_a_pending_create",),
    ),
    Fault(
        name="a second room is noted and left",
        file=DRAFT,
        right="        self.add(REMOVE, host=room.host, zoom_id=room.zoom_id)\n",
        wrong="",
        tests=(f"{WORK}::test_second_room_is_kept_in_mind_and_removed",),
    ),
    Fault(
        name="a late create that brought a room is forgotten",
        file=OUTCOMES,
        right='    if command.action == CREATE and command.outcome == "done":\n',
        wrong='    if command.action == CREATE and command.outcome != "done":\n',
        tests=(f"{WORK}::test_late_create_is_adopted_while_the_meeting_has_no_room",),
    ),
)
