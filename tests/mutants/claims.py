"""Faults in the queue of room work: claims, leases, epochs, settlement, and what its rows owe to the projector."""

from __future__ import annotations

from tests.mutants.fault import Fault

QUEUE = "reconciler/queries/rooms.sql"
WORKER = "reconciler/rooms/worker.py"
LEASE = "reconciler/rooms/lease.py"
REPORTING = "reconciler/rooms/reporting.py"
SETTINGS = "runtime/settings.py"
PROJECTOR = "projectors/meetings.py"
ROWS = "projectors/queries/meetings.sql"

CLAIMS = "tests/integration/test_room_claims.py"
LEASES = "tests/integration/test_room_leases.py"
WORKERS = "tests/integration/test_room_worker.py"
HEALING = "tests/integration/test_room_healing.py"
UNKNOWN = "tests/integration/test_unknown_outcomes.py"
REBUILDS = "tests/integration/test_room_rebuilds.py"
PROJECTION = "tests/integration/test_meetings_projection.py"

FAULTS = (
    Fault(
        name="a row and the offset of its event are two transactions",
        file="projectors/engine/writer.py",
        right="runs = self._offsets.move(cursor, batch.slices)\n",
        wrong="runs = self._offsets.move(cursor, batch.slices)\n        with self._transaction() as cursor:\n",
        tests=(
            "tests/integration/test_projectors.py::test_a_projector_killed_before_its_commit_leaves_nothing_behind",
        ),
    ),
    Fault(
        name="a rebuild makes rows like any others",
        file=PROJECTOR,
        right="_write_meetings(cursor, _newest(meetings), retried=True)",
        wrong="_write_meetings(cursor, _newest(meetings), retried=False)",
        tests=(f"{REBUILDS}::test_room_of_a_lost_database_is_found_and_not_made_again",),
    ),
    Fault(
        name="a rebuild puts no room in doubt",
        file=PROJECTOR,
        right='            cursor.execute(queries("projectors")["doubt_meetings"]',
        wrong='            cursor.connection and (queries("projectors")["doubt_meetings"]',
        tests=(f"{PROJECTION}::test_lost_database_comes_back_with_its_work",),
    ),
    Fault(
        name="a claim takes whatever is due",
        file=QUEUE,
        right=") AS free\n    LIMIT %(rows)s\n",
        wrong=") AS free\n    LIMIT 1000\n",
        tests=(f"{CLAIMS}::test_workers_claim_different_rows",),
    ),
    Fault(
        name="a claim takes five hundred",
        file=SETTINGS,
        right="claim_rows: int = Field(50, ge=1, le=50)",
        wrong="claim_rows: int = Field(500, ge=1, le=500)",
        tests=(f"{CLAIMS}::test_workers_claim_different_rows",),
    ),
    Fault(
        name="a claim waits for rows that another has locked",
        file=QUEUE,
        right="<= interval '0'\n        FOR UPDATE SKIP LOCKED",
        wrong="<= interval '0'\n        FOR UPDATE",
        tests=(f"{CLAIMS}::test_claim_passes_over_locked_rows",),
    ),
    Fault(
        name="a lease lasts a minute",
        file=SETTINGS,
        right="lease_seconds: Seconds = 120.0",
        wrong="lease_seconds: Seconds = 60.0",
        tests=(f"{CLAIMS}::test_lease_lasts_two_minutes",),
    ),
    Fault(
        name="a lease lasts ten minutes",
        file=SETTINGS,
        right="lease_seconds: Seconds = 120.0",
        wrong="lease_seconds: Seconds = 600.0",
        tests=(f"{CLAIMS}::test_lease_lasts_two_minutes",),
    ),
    Fault(
        name="epochs repeat",
        file="runtime/migrations/0001_read_model.sql",
        right="SELECT setval('room_request_epochs', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);",
        wrong="ALTER SEQUENCE room_request_epochs MAXVALUE 1 CYCLE;",
        tests=(f"{CLAIMS}::test_settlement_under_an_old_epoch_touches_nothing",),
    ),
    Fault(
        name="epochs begin anew after a rebuild",
        file=ROWS,
        right="    greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, nextval('room_request_epochs'))",
        wrong="    nextval('room_request_epochs')",
        tests=(f"{PROJECTION}::test_epochs_never_repeat_after_a_rebuild",),
    ),
    Fault(
        name="an earlier row is no hindrance",
        file=QUEUE,
        right="AND earlier.lane = r.lane AND earlier.n < r.n\n          )\n          AND (r.action",
        wrong="AND earlier.lane = r.lane AND false\n          )\n          AND (r.action",
        tests=(f"{WORKERS}::test_work_of_a_meeting_is_done_in_order",),
    ),
    Fault(
        name="an earlier row that is settled is no hindrance",
        file=QUEUE,
        right="AND earlier.lane = r.lane AND earlier.n < r.n\n          )\n          AND (r.action",
        wrong="AND earlier.lane = r.lane AND earlier.n < r.n AND earlier.settled_at IS NULL\n          )\n          AND (r.action",
        tests=(f"{WORKERS}::test_work_of_a_meeting_is_done_in_order",),
    ),
    Fault(
        name="removals and the meeting's other work wait for each other",
        file=PROJECTOR,
        right='lane=work.zoom_id or "" if work.action == "remove" else ""',
        wrong='lane=""',
        tests=(f"{HEALING}::test_running_second_room_is_left_until_it_ends",),
    ),
    Fault(
        name="removals wait for the meeting's other work",
        file=QUEUE,
        right="AND earlier.lane = r.lane AND earlier.n < r.n\n          )\n          AND (r.action",
        wrong="AND earlier.lane IN (r.lane, '') AND earlier.n < r.n\n          )\n          AND (r.action",
        tests=(f"{HEALING}::test_removal_waits_for_no_other_work",),
    ),
    Fault(
        name="only the first of the claims is renewed",
        file=WORKER,
        right="await self._queue.renew(list(self._in_hand.values()))",
        wrong="await self._queue.renew(list(self._in_hand.values())[:1])",
        tests=(f"{CLAIMS}::test_all_claims_are_renewed_while_calls_run",),
    ),
    Fault(
        name="nobody renews",
        file=WORKER,
        right="await self.renew()",
        wrong="self._in_hand.values()",
        tests=(f"{CLAIMS}::test_all_claims_are_renewed_while_calls_run",),
    ),
    Fault(
        name="a renewal under an old epoch counts",
        file=QUEUE,
        right="AND r.epoch = mine.epoch\n    WHERE r.settled_at IS NULL AND r.leased_by IS NOT NULL",
        wrong="\n    WHERE r.settled_at IS NULL AND r.leased_by IS NOT NULL",
        tests=(f"{CLAIMS}::test_settlement_under_an_old_epoch_touches_nothing",),
    ),
    Fault(
        name="a start under an old epoch counts",
        file=QUEUE,
        right="AND stored.epoch = mine.epoch\n        FOR UPDATE\n",
        wrong="\n        FOR UPDATE\n",
        tests=(f"{CLAIMS}::test_settlement_under_an_old_epoch_touches_nothing",),
    ),
    Fault(
        name="a call is made whatever became of the row",
        file=LEASE,
        right="counted=not self.acted):\n            raise LeaseLost",
        wrong="counted=not self.acted):\n            pass",
        tests=(f"{LEASES}::test_row_that_was_taken_away_is_not_called_for",),
    ),
    Fault(
        name="a look-up is made whatever became of the row",
        file=LEASE,
        right="if not await self.is_held():\n            raise LeaseLost",
        wrong="if not await self.is_held():\n            pass",
        tests=(f"{CLAIMS}::test_worker_without_its_row_looks_for_nothing",),
    ),
    Fault(
        name="the permit is asked for once, not before each try",
        file="zoom/client/client.py",
        right="            again = await self._guarded(call, permit)",
        wrong="            again = await self._guarded(call, always)",
        tests=("tests/integration/test_zoom_client.py::test_permit_is_asked_for_before_each_try",),
    ),
    Fault(
        name="an outcome is sent under a lost epoch",
        file=WORKER,
        right="        if not await job.lease.is_held():\n            await self._report_late(job, concluded)",
        wrong="        if not job.lease:\n            await self._report_late(job, concluded)",
        tests=(f"{LEASES}::test_late_create_while_another_looks",),
    ),
    Fault(
        name="a late call is not told",
        file=WORKER,
        right="        if job.lease.acted:",
        wrong="        if job.lease.acted and not concluded:",
        tests=(f"{LEASES}::test_late_create_while_another_looks",),
    ),
    Fault(
        name="a late call without an answer is not told",
        file=WORKER,
        right="        elif not kept.harmless:",
        wrong="        elif not kept:",
        tests=(f"{LEASES}::test_late_update_without_an_answer_is_repaired",),
    ),
    Fault(
        name="a worker that called nobody reports late",
        file=WORKER,
        right="        if job.lease.acted:",
        wrong="        if job.lease:",
        tests=(f"{LEASES}::test_row_that_was_taken_away_is_not_called_for",),
    ),
    Fault(
        name="a row is settled before its outcome is in Kafka",
        file=WORKER,
        right="        await self._reporter.conclude(job.request, concluded, kind=OUTCOME, email=_email(job))\n"
        "        await self._queue.settle(job.request, concluded)\n",
        wrong="        await self._queue.settle(job.request, concluded)\n"
        "        await self._reporter.conclude(job.request, concluded, kind=OUTCOME, email=_email(job))\n",
        tests=(f"{UNKNOWN}::test_broker_that_is_away_delays_the_outcome_only",),
    ),
    Fault(
        name="nobody waits for the broker",
        file=REPORTING,
        right="            await asyncio.gather(*map(self._sender.deliver, records))",
        wrong="            _ = [asyncio.ensure_future(self._sender.deliver(record)) for record in records]",
        tests=(f"{UNKNOWN}::test_broker_that_is_away_delays_the_outcome_only",),
    ),
    Fault(
        name="an outcome's id leaves the epoch out",
        file=REPORTING,
        right="outcome_id_for(kind, request.provider_key, request.epoch, told)",
        wrong="outcome_id_for(kind, request.provider_key, 0, told)",
        tests=("tests/unit/test_room_reports.py",),
    ),
    Fault(
        name="an outcome's id leaves the room out",
        file=REPORTING,
        right="told = f\"{concluded.zoom_id or ''}:{concluded.outcome}\"",
        wrong="told = concluded.outcome",
        tests=("tests/unit/test_room_reports.py",),
    ),
    Fault(
        name="a settlement under an old epoch counts",
        file=QUEUE,
        right="AND stored.epoch = mine.epoch\n        FOR UPDATE SKIP LOCKED",
        wrong="\n        FOR UPDATE SKIP LOCKED",
        tests=(f"{CLAIMS}::test_settlement_under_an_old_epoch_touches_nothing",),
    ),
    Fault(
        name="a row is given back under an old epoch",
        file=QUEUE,
        right="WHERE account_id = %(account_id)s AND provider_key = %(provider_key)s AND epoch = %(epoch)s",
        wrong="WHERE account_id = %(account_id)s AND provider_key = %(provider_key)s AND %(epoch)s > 0",
        tests=(f"{CLAIMS}::test_settlement_under_an_old_epoch_touches_nothing",),
    ),
    Fault(
        name="a settle that finds nothing is a late call",
        file=WORKER,
        right="        await self._queue.settle(job.request, concluded)\n",
        wrong="        if not await self._queue.settle(job.request, concluded):\n"
        "            await self._report_late(job, concluded)\n",
        tests=(f"{LEASES}::test_outcome_answered_before_it_is_settled_is_no_late_call",),
    ),
    Fault(
        name="an answer ends a row that was claimed again",
        file=ROWS,
        right="r.provider_key = e.provider_key AND r.epoch = e.epoch;",
        wrong="r.provider_key = e.provider_key;",
        tests=(f"{PROJECTION}::test_answer_under_an_old_epoch_leaves_the_row",),
    ),
    Fault(
        name="an answer ends settled rows only",
        file=ROWS,
        right="r.provider_key = e.provider_key AND r.epoch = e.epoch;",
        wrong="r.provider_key = e.provider_key AND r.epoch = e.epoch AND r.settled_at IS NOT NULL;",
        tests=(f"{LEASES}::test_outcome_answered_before_it_is_settled_is_no_late_call",),
    ),
    Fault(
        name="rows that nobody wants any more stay",
        file=ROWS,
        right="  AND r.started_at IS NULL AND NOT r.retried\n",
        wrong="  AND false\n",
        tests=(f"{PROJECTION}::test_update_that_never_started_is_replaced",),
    ),
    Fault(
        name="a started row is deleted with its work",
        file=ROWS,
        right="  AND r.started_at IS NULL AND NOT r.retried\n",
        wrong="  AND NOT r.retried\n",
        tests=(f"{PROJECTION}::test_started_create_stays_before_the_cancel",),
    ),
    Fault(
        name="a retried row is deleted with its work",
        file=ROWS,
        right="  AND r.started_at IS NULL AND NOT r.retried\n",
        wrong="  AND r.started_at IS NULL\n",
        tests=(f"{PROJECTION}::test_retried_row_is_not_taken_for_one_that_never_started",),
    ),
    Fault(
        name="a settled row that stays is not asked after",
        file=SETTINGS,
        right="retried_after_seconds: Seconds = Field(600.0",
        wrong="retried_after_seconds: Seconds = Field(6000.0",
        tests=(f"{WORKERS}::test_settled_row_that_is_never_answered_is_taken_again",),
    ),
    Fault(
        name="a settled row that stays does not count as retried",
        file=QUEUE,
        right="retried = r.retried OR r.settled_at IS NOT NULL,\n        settled_at = NULL,\n        unknown_at",
        wrong="retried = r.retried,\n        settled_at = NULL,\n        unknown_at",
        tests=(f"{WORKERS}::test_settled_row_that_is_never_answered_is_taken_again",),
    ),
    Fault(
        name="a claim of a started row leaves no doubt",
        file=QUEUE,
        right="(c.started_at IS NOT NULL OR c.retried)",
        wrong="c.retried",
        tests=(f"{LEASES}::test_claim_of_a_started_row_puts_the_room_in_doubt",),
    ),
    Fault(
        name="a claim of a retried row leaves no doubt",
        file=QUEUE,
        right="(c.started_at IS NOT NULL OR c.retried)",
        wrong="c.started_at IS NOT NULL",
        tests=(f"{REBUILDS}::test_claim_of_a_rebuilt_row_puts_the_room_in_doubt",),
    ),
    Fault(
        name="a dead worker's call is as old as its row's first call",
        file=QUEUE,
        right="WHEN r.leased_by IS NOT NULL AND r.started_at IS NOT NULL THEN %(now)s",
        wrong="WHEN false THEN %(now)s",
        tests=(f"{LEASES}::test_late_create_before_any_list_shows_it",),
    ),
    Fault(
        name="work without a gateway is told over and over",
        file=QUEUE,
        right="      AND r.outcome IS DISTINCT FROM 'provider_unavailable'\n",
        wrong="",
        tests=(f"{WORKERS}::test_without_a_gateway_nothing_is_lost",),
    ),
    Fault(
        name="work without a gateway counts attempts",
        file=WORKER,
        right='outcome="provider_unavailable",\n                counted=False,',
        wrong='outcome="provider_unavailable",\n                counted=True,',
        tests=(f"{WORKERS}::test_without_a_gateway_nothing_is_lost",),
    ),
    Fault(
        name="nobody is told of due work",
        file=PROJECTOR,
        right='        cursor.execute(queries("projectors")["notify_requests"])\n',
        wrong="",
        tests=(f"{PROJECTION}::test_waiters_and_workers_are_told_at_the_commit",),
    ),
)
