"""`roomkeeper up`: everything on this machine, with one log, until Ctrl-C."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Annotated

import typer

from roomkeeper.interruption import interruption
from roomkeeper.local.joint_log import JointLog
from roomkeeper.local.stack import Shape, Stack
from runtime.clock import Clock, SystemClock
from runtime.settings import load
from schemas.errors import Misconfigured


def build() -> typer.Typer:
    """The command `roomkeeper up`."""
    app = typer.Typer()
    app.command("up")(_up)
    return app


def _up(
    *,
    workers: Annotated[int, typer.Option(min=1, help="Stream workers.")] = 1,
    speed: Annotated[
        float, typer.Option(min=0.01, help="Divides the simulated Zoom's delays and meeting lengths.")
    ] = 1.0,
) -> None:
    """Run broker, database, simulator and all roles; print the addresses and a key; stop all of it on Ctrl-C."""
    settings = load()
    log = JointLog()
    shape = Shape(copies={"streams": workers}, simulator=("--speed", str(speed)), colors=sys.stdout.isatty())
    with Stack(settings, sink=log, shape=shape) as stack, interruption() as wanted:
        log.say(welcome(stack, SystemClock()))
        while not wanted.wait(1.0):
            stack.backing.require_running()
            if stack.group.log_error is not None:
                raise stack.group.log_error
            if stack.group.failed:
                raise Misconfigured(f"{', '.join(stack.group.failed)} ended: its last lines above say why")
        log("up", "stopping")


def welcome(stack: Stack, clock: Clock) -> str:
    """What to do with the running stack, ready to copy."""
    where = stack.addresses
    start = (clock.now() + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    meeting = {"host": "host-01@example.com", "topic": "Hello", "start_time": start, "duration_minutes": 30}
    return f"""
Roomkeeper is up. Ctrl-C stops all of it.

  API         {where.ingress}/docs
  simulator   {f"{where.simulator}/control/docs" if where.simulator else "none: the accounts are set"}
  Kafka       {where.kafka}
  PostgreSQL  {where.postgres}
  API key     {stack.api_key}

Try:

curl -sS {where.ingress}/v1/meetings -H 'Authorization: Bearer {stack.api_key}' \\
  -H 'Idempotency-Key: first' -H 'Prefer: wait=20' -H 'Content-Type: application/json' \\
  -d '{json.dumps(meeting)}'
"""
