"""A pass, put together from its parts."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.gateway.alerts import Alerts
from reconciler.poller.asking import Visits
from reconciler.poller.deliveries import Deliveries
from reconciler.poller.habits import WebhookHabits
from reconciler.poller.hosts import HostLists
from reconciler.poller.knowledge import Knowledge
from reconciler.poller.observing import Witness
from reconciler.poller.passes import Pass
from reconciler.rooms.reporting import Sender
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from zoom.client.client import ZoomClient

PACKAGE = "reconciler.poller"
"""Its queries."""


def pass_over(
    database: AsyncDatabase,
    *,
    client: ZoomClient,
    sender: Sender,
    accounts: Sequence[str],
    settings: Settings,
    clock: Clock,
    metrics: Metrics,
) -> Pass:
    """Passes over these accounts."""
    statements = Statements(database, package=PACKAGE)
    witness = Witness(sender, clock=clock, topic_prefix=settings.kafka.topic_prefix)
    return Pass(
        accounts=accounts,
        statements=statements,
        knowledge=Knowledge(statements, settings=settings.poller),
        visits=Visits(client, witness=witness, statements=statements, settings=settings.poller),
        settings=settings.poller,
        clock=clock,
        metrics=metrics,
        habits=WebhookHabits(statements, alerts=Alerts(database, clock=clock), settings=settings.poller, clock=clock),
        redeliveries=Deliveries(database, client=client, sender=sender, settings=settings, clock=clock, metrics=metrics)
        if accounts
        else None,
        lists=HostLists(client, witness=witness, statements=statements, settings=settings.poller, clock=clock),
    )
