"""Pollers as processes, and a simulated Zoom whose meetings are long over for them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from typing import Any

from pydantic import SecretStr

from runtime.cipher import new_key
from runtime.clock import SystemClock
from runtime.environment import environment_for_children
from runtime.settings import SecuritySettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import load as load_topics
from tests.simulated_zoom import ManualClock
from tests.zoom_calls import gateway_account

BEHIND_SECONDS = 7_200.0


class BehindClock(ManualClock):
    """Goes on by itself, two hours behind."""

    def now(self) -> datetime:
        """Two hours ago."""
        return SystemClock(shift_seconds=-BEHIND_SECONDS).now()

    def monotonic_seconds(self) -> float:
        """Real seconds."""
        return SystemClock().monotonic_seconds()


def polling_settings(settings: Settings, zoom: str) -> Settings:
    """Settings for all roles, with topics and one account, whose Zoom is at this address; leaders follow soon."""
    account = gateway_account(zoom, plan="business")
    own = settings.model_copy(
        update={
            "accounts": (account,),
            "kafka": settings.kafka.model_copy(update={"partitions": 2}),
            "security": SecuritySettings(encryption_keys=(SecretStr(new_key()),)),
            "log": settings.log.model_copy(update={"format": "json"}),
            "poller": settings.poller.model_copy(update={"succession_seconds": 6.0, "share": 1.0}),
        }
    )
    admin = TopicAdmin(own.kafka)
    admin.apply(admin.plan(load_topics()))
    return own


def shifted(settings: Settings, seconds: float) -> Settings:
    """The same by another clock."""
    return settings.model_copy(update={"clock": settings.clock.model_copy(update={"shift_seconds": seconds})})


def poll_once(settings: Settings) -> tuple[dict[str, Any], str]:
    """`roomkeeper poll --once` in a pipe: its report, and what it logged."""
    ended = subprocess.run(
        [sys.executable, "-m", "roomkeeper", "poll", "--once"],
        env=environment_for_children(settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    return report, ended.stderr
