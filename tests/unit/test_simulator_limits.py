"""The simulator's rate limits, tokens, faults and pages, without a socket."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from runtime.randomness import seeded
from simulator import pages, too_many
from simulator.config import Plan
from simulator.faults import Fault, Faults, Kind, Subject, Target
from simulator.identifiers import Identifiers
from simulator.rates import HOST_DAILY, Label, RateLimits
from simulator.refusals import Refusal
from simulator.tokens import Tokens
from simulator.world import World
from tests.samples import rest
from tests.simulated_zoom import ACCOUNT, MOMENT, config

CREATE = Subject(target=Target.REST, name="create", account_id="a", hosts=("host-01@example.com", "H1"), zoom_id=None)


def charge(limits: RateLimits, *, times: int, label: Label = Label.LIGHT, now: datetime = MOMENT) -> int:
    """How many of the calls are let through."""
    passed = 0
    for _ in range(times):
        try:
            limits.charge_account("a", plan=Plan.PRO, label=label, now=now)
            passed += 1
        except Refusal:
            pass
    return passed


@pytest.mark.parametrize(("label", "most"), [(Label.LIGHT, 30), (Label.MEDIUM, 20), (Label.HEAVY, 10)])
def test_a_second_holds_what_the_plan_allows(label: Label, most: int) -> None:
    """A Pro account gets 30, 20 or 10 calls a second by label, and as many again in the next second."""
    limits = RateLimits()
    both = (
        charge(limits, times=100, label=label),
        charge(limits, times=100, label=label, now=MOMENT + timedelta(seconds=1)),
    )
    assert both == (most, most)


def test_the_per_second_429_is_as_recorded() -> None:
    """The body and type of a per-second 429 are the recorded ones, without Retry-After."""
    refusal = too_many.per_second("Light")
    assert refusal.body == rest("error.429_qps")
    assert refusal.headers == {"X-RateLimit-Category": "Light", "X-RateLimit-Type": "QPS"}


def test_a_free_accounts_day_is_refused_with_headers_as_recorded() -> None:
    """The 6,001st light call of a Free account's UTC day gets the daily 429 with an ISO Retry-After."""
    limits, refusal = RateLimits(), None
    for count in range(6_001):
        try:
            limits.charge_account("a", plan=Plan.FREE, label=Label.LIGHT, now=MOMENT + timedelta(seconds=count))
        except Refusal as error:
            refusal = error
    assert refusal is not None
    assert dict(refusal.headers) == rest("headers.429_daily")


def test_a_host_has_a_hundred_creates_and_updates_a_day() -> None:
    """The 101st is refused with the recorded body and without type and Retry-After; midnight UTC gives a new hundred."""
    limits = RateLimits()
    for _ in range(HOST_DAILY):
        limits.charge_host("a", host_id="H1", now=MOMENT)
    with pytest.raises(Refusal) as caught:
        limits.charge_host("a", host_id="H1", now=MOMENT)
    limits.charge_host("a", host_id="H2", now=MOMENT)
    limits.charge_host("a", host_id="H1", now=too_many.midnight_after(MOMENT))
    assert caught.value.body == rest("error.429_daily_user_100")
    assert caught.value.headers.keys() == rest("headers.429_user_100_as_seen").keys()


def test_a_person_is_added_three_times_a_day_to_one_meeting() -> None:
    """The fourth add of an address, in whatever case, is refused with the recorded text; another meeting is another count."""
    limits = RateLimits()
    for email in ("registrant@example.org", "Registrant@example.org", "registrant@example.org"):
        limits.charge_registrant(1, email=email, now=MOMENT)
    limits.charge_registrant(2, email="registrant@example.org", now=MOMENT)
    with pytest.raises(Refusal) as caught:
        limits.charge_registrant(1, email="registrant@example.org", now=MOMENT)
    assert caught.value.body == rest("error.429_daily_registrant_3")


def test_limits_that_are_off_still_count() -> None:
    """With limits off nothing is refused, and the host's calls are counted all the same."""
    limits = RateLimits(enforced=False)
    for _ in range(150):
        limits.charge_host("a", host_id="H1", now=MOMENT)
    assert limits.host_calls() == {"H1": 150}


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (too_many.RetryAfter.ISO, "2026-12-02T00:00:00Z"),
        (too_many.RetryAfter.SECONDS, "32488"),
        (too_many.RetryAfter.HTTP_DATE, "Wed, 02 Dec 2026 00:00:00 GMT"),
        (too_many.RetryAfter.NONE, None),
    ],
)
def test_retry_after_comes_in_every_form(form: too_many.RetryAfter, value: str | None) -> None:
    """A daily 429 can say when to come back as a date, in seconds, as an HTTP date, or not at all."""
    assert too_many.daily("Light", limit=6_000, now=MOMENT, form=form).headers.get("Retry-After") == value


def test_tokens_expire_and_die() -> None:
    """A token is refused as expired after its life, and as invalid once it was killed."""
    world = World(config(), lambda _: None)
    account = world.accounts[ACCOUNT.account_id]
    tokens = Tokens(Identifiers(seeded(1)), lifetime_seconds=60)
    old = tokens.issue(account, api_url="", now=MOMENT)["access_token"]
    messages = []
    for now, kill in ((MOMENT + timedelta(seconds=60), False), (MOMENT, True)):
        if kill:
            tokens.kill(account)
        with pytest.raises(Refusal) as caught:
            tokens.account_of(old, scope="meeting:read:meeting:admin", now=now)
        messages.append((caught.value.status, caught.value.code, str(caught.value)))
    assert messages == [(401, 124, "Access token has expired."), (401, 124, "Invalid access token.")]


def test_a_new_token_can_kill_the_old() -> None:
    """In the stricter mode only the newest token of an account works."""
    account = World(config(), lambda _: None).accounts[ACCOUNT.account_id]
    tokens = Tokens(Identifiers(seeded(1)), lifetime_seconds=60)
    tokens.one_at_a_time = True
    old, new = (tokens.issue(account, api_url="", now=MOMENT)["access_token"] for _ in range(2))
    with pytest.raises(Refusal):
        tokens.account_of(old, scope="meeting:read:meeting:admin", now=MOMENT)
    assert tokens.account_of(new, scope="meeting:read:meeting:admin", now=MOMENT) is account


def test_a_fault_strikes_as_often_as_ordered() -> None:
    """A counted fault strikes its next matches and is gone; others are not struck."""
    faults = Faults(seeded(1))
    faults.order(Fault(target=Target.REST, kind=Kind.ERROR, names=("create", "up*"), host="H1", count=2))
    other = replace(CREATE, hosts=("H2",))
    struck = [len(faults.strike(subject)) for subject in (CREATE, other, replace(CREATE, name="update"), CREATE)]
    assert (struck, faults.all()) == ([1, 0, 1, 0], [])


def test_a_fault_strikes_by_chance() -> None:
    """A fault of probability one third strikes about a third of its matches, the same ones for the same seed."""
    counts = []
    for _ in range(2):
        faults = Faults(seeded(7))
        faults.order(Fault(target=Target.REST, kind=Kind.ERROR, probability=1 / 3))
        counts.append(sum(len(faults.strike(CREATE)) for _ in range(3_000)))
    assert 900 < counts[0] == counts[1] < 1_100


def test_faults_are_cleared_one_by_one_and_together() -> None:
    """One fault can be lifted by its id, the rest together."""
    faults = Faults(seeded(1))
    first, *_ = (faults.order(Fault(target=Target.REST, kind=Kind.ERROR)) for _ in range(3))
    assert (faults.clear(first.fault_id), faults.clear(first.fault_id), faults.clear()) == (1, 0, 2)


def test_pages_are_walked_by_tokens() -> None:
    """Tokens lead through all items in order, and the last page has none."""
    seen: list[int] = []
    token = ""
    while True:
        one = pages.page(list(range(7)), query={"page_size": "3", "next_page_token": token}, now=MOMENT)
        seen += one.items
        token = one.next_token
        if not token:
            break
    assert seen == list(range(7))


@pytest.mark.parametrize("token", ["no-token", "OTk6eA==", None])
def test_old_and_foreign_page_tokens_are_refused(token: str | None) -> None:
    """A token older than fifteen minutes, or not ours, is refused."""
    made = pages.page(list(range(7)), query={"page_size": "3"}, now=MOMENT).next_token
    with pytest.raises(Refusal):
        pages.page([1], query={"next_page_token": token or made}, now=MOMENT + timedelta(seconds=901))
