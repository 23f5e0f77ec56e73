"""`roomkeeper simulate`: a Zoom to try things against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from runtime import settings
from runtime.clock import SystemClock
from runtime.logs import configure
from schemas.errors import Misconfigured
from simulator.config import AccountConfig, Plan, SimulatorConfig
from simulator.server import address_of, listen, serve
from simulator.service import Service


def build() -> typer.Typer:
    """The command."""
    app = typer.Typer(add_completion=False)
    app.command()(simulate)
    return app


def simulate(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 0,
    address_file: Annotated[Path | None, typer.Option(help="Write the address here once it listens.")] = None,
    speed: Annotated[float, typer.Option(min=0.01, help="Divides delays and meeting lengths.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal ids, scripts and faults.")] = 1,
    hosts: Annotated[int, typer.Option(min=1, max=10_000, help="Hosts of each account.")] = 20,
    webhook_url: Annotated[str | None, typer.Option(help="Where events are sent.")] = None,
    limits: Annotated[bool, typer.Option(help="Whether Zoom's rate limits hold.")] = True,
    latency: Annotated[float, typer.Option(min=0.0, help="Mean seconds from event to delivery.")] = 0.4,
    token_seconds: Annotated[int, typer.Option(min=1, help="Lifetime of access tokens.")] = 3_600,
) -> None:
    """A Zoom that can fail: its REST API, its signed webhooks, and a control API under /control."""
    loaded = settings.load()
    clock = SystemClock(shift_seconds=loaded.clock.shift_seconds)
    configure(loaded.log, role="simulator", clock=clock)
    config = SimulatorConfig(
        accounts=accounts_of(loaded, hosts=hosts, webhook_url=webhook_url),
        seed=seed,
        speed=speed,
        latency_seconds=latency,
        token_seconds=token_seconds,
        limits=limits,
    )
    listener = listen(host, port)
    Console(stderr=True).print(f"simulator: {address_of(listener)} (control: {address_of(listener)}/control/docs)")
    service = Service(config, clock)
    serve(service, listener=listener, address_file=address_file)


def accounts_of(loaded: settings.Settings, *, hosts: int, webhook_url: str | None) -> tuple[AccountConfig, ...]:
    """The accounts of the settings, as the simulated Zoom knows them.

    Raises:
        Misconfigured: there is none, or one lacks what Zoom would have.
    """
    if not loaded.accounts:
        raise Misconfigured("ROOMKEEPER_ACCOUNTS: the simulator needs at least one account")
    return tuple(_account(each, hosts=hosts, webhook_url=webhook_url) for each in loaded.accounts)


def _account(account: settings.Account, *, hosts: int, webhook_url: str | None) -> AccountConfig:
    if account.client_id is None or account.client_secret is None or not account.webhook_secrets:
        raise Misconfigured(
            f"ROOMKEEPER_ACCOUNTS: account {account.account_id} needs client_id, client_secret and a webhook secret"
        )
    return AccountConfig(
        account_id=account.account_id,
        client_id=account.client_id,
        client_secret=account.client_secret.get_secret_value(),
        webhook_secret=account.webhook_secrets[0].value.get_secret_value(),
        plan=Plan(account.plan),
        hosts=hosts,
        webhook_url=webhook_url,
        tracking_fields=(account.tracking_field,) if account.tracking_field else (),
    )
