"""Orders about accounts and hosts."""

from __future__ import annotations

from fastapi import APIRouter

from simulator.control.orders import AccountChange, HostChange, WebhookTarget
from simulator.model import Account, Host
from simulator.service import Service
from simulator.wire import Json


def router(service: Service) -> APIRouter:
    """The routes under `/accounts`, and `/webhooks/target` for all of them at once."""
    routes = APIRouter(tags=["accounts"])

    @routes.get("/accounts")
    async def listing() -> list[Json]:
        """Every account with its hosts."""
        return [_account(account) for account in service.world.accounts.values()]

    @routes.patch("/accounts/{account_id}")
    async def change(account_id: str, order: AccountChange) -> Json:
        """Changes an account's plan, endpoint or secret."""
        account = service.world.accounts[account_id]
        for name, value in order.model_dump(exclude_unset=True).items():
            setattr(account, name, value)
        return _account(account)

    @routes.patch("/accounts/{account_id}/hosts/{host}")
    async def change_host(account_id: str, host: str, order: HostChange) -> Json:
        """Takes a host's licence, or gives it back."""
        found = service.world.accounts[account_id].hosts[host]
        for name, value in order.model_dump(exclude_none=True).items():
            setattr(found, name, value)
        return _host(found)

    @routes.put("/webhooks/target")
    async def target(order: WebhookTarget) -> Json:
        """Where events go from now on, of one account or of all; null stops them."""
        for account in service.world.accounts.values():
            if order.account_id in (None, account.account_id):
                account.webhook_url = order.url
        return {"url": order.url}

    return routes


def _account(account: Account) -> Json:
    return {
        "account_id": account.account_id,
        "client_id": account.client_id,
        "plan": account.plan,
        "webhook_url": account.webhook_url,
        "hosts": [_host(host) for host in account.hosts.values()],
    }


def _host(host: Host) -> Json:
    return {
        "host_id": host.host_id,
        "email": host.email,
        "licensed": host.licensed,
        "pending": host.pending,
        "may_host": host.may_host,
    }
