"""`docs/http-api.md` tells of every path and every kind of problem, and of none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi.routing import APIRoute

from ingress.api import commands, meetings, registrants, rooms, status
from ingress.problems import KINDS
from ingress.webhooks import OWN_PATH, PATH

PAGE = (Path(__file__).parents[3] / "docs" / "http-api.md").read_text(encoding="utf-8")


def test_the_page_tells_of_every_path() -> None:
    """Every route of the API and of the webhooks, with its method."""
    routes = [route for part in (meetings, registrants, commands, rooms, status) for route in part.router().routes]
    wanted = {f"POST {PATH}", f"POST {OWN_PATH}"}
    for route in routes:
        assert isinstance(route, APIRoute)
        wanted |= {f"{method} {route.path.replace(':path', '')}" for method in route.methods or ()}
    assert wanted == set(re.findall(r"`((?:GET|POST|PATCH|DELETE) /[a-z0-9_/{}]+)", PAGE))


def test_the_page_tells_of_every_problem() -> None:
    """Every kind with its status."""
    listed = {code: int(number) for code, number in re.findall(r"^\| `(\w+)` \| (\d{3}) \|", PAGE, re.MULTILINE)}
    assert listed == {kind.code: kind.status for kind in KINDS.values()}
