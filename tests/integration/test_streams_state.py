"""A worker's state from outside: looked at, made anew, and folded again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.settings import Settings
from schemas.errors import Broken, Misconfigured, Unavailable
from streams.engine.revised import unpack
from streams.engine.store import PartitionStore
from streams.state import rebuild as rebuilding
from streams.state.inspect import find_in_changelogs, find_on_disk
from streams.state.rebuild import rebuild
from streams.state.refold import apply, plan
from streams.state.tables import TablePartition, choose, partitions_of
from tests.streams.bench import Bench, counting_bench
from tests.streams.counting import CountingFold


@pytest.fixture
def bench(settings: Settings, tmp_path: Path) -> Bench:
    """A bench whose commands work on the worker's disk called `one`."""
    made = counting_bench(settings, tmp_path, a=2)
    streams = made.settings.streams.model_copy(update={"data_dir": tmp_path / "one"})
    made.settings = made.settings.model_copy(update={"streams": streams})
    return made


def test_a_key_is_looked_at_and_the_state_made_anew(bench: Bench) -> None:
    """A running worker's state can be read from disk and changelog alike; damage is undone once the worker is stopped."""
    bench.feed(300, keys=20)
    partitions = _partitions(bench)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        on_disk = find_on_disk(partitions, "a7")
        assert [(each.table, each.key, json.loads(each.entry)["n"]) for each in on_disk] == [("a", "a7", 15)]
        assert find_in_changelogs(bench.settings, partitions, "a7") == on_disk
        assert find_on_disk(partitions, "a") == []
        with pytest.raises(Unavailable, match="another process has it open"):
            rebuild(bench.settings, partitions, sample=1)
    for each in partitions:
        store = PartitionStore(each.path)
        store.write([(b"a7", b"damaged"), (b"ghost", b"damaged")], offset=0)
        store.close()
    rebuilt = rebuild(bench.settings, partitions, sample=1)
    assert (rebuilt.partitions, rebuilt.compared) == (2, 20)
    assert find_on_disk(partitions, "a7") == on_disk
    assert find_on_disk(partitions, "ghost") == []


def test_a_restore_that_went_wrong_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry on the disk that is not the changelog's ends the rebuild with its key."""
    bench.feed(40, keys=20)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    restore = rebuilding._restore

    def restore_badly(settings: Settings, partitions: list[TablePartition], stores: list[PartitionStore]) -> int:
        records = restore(settings, partitions, stores)
        for store in stores:
            store.write([(b"a7", b"damaged")], offset=store.offset() or 0)
        return records

    monkeypatch.setattr(rebuilding, "_restore", restore_badly)
    with pytest.raises(Broken, match="the entry of b'a7' differs from the changelog's"):
        rebuild(bench.settings, _partitions(bench), sample=1)


def test_history_is_folded_again_under_a_higher_generation(bench: Bench) -> None:
    """Made anew, a count comes out as before under the next generation, with each output once more; not while a worker runs."""
    bench.feed(200, keys=20)
    partitions = _partitions(bench)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        with pytest.raises(Misconfigured, match=r"1 workers of .* run: stop them first"):
            apply(bench.settings, plan(bench.settings, partitions, since=None, anew=True))
    bench.wait_until_group_is_empty()
    refolds = plan(bench.settings, partitions, since=None, anew=True)
    assert sum(each.records for each in refolds) == 200
    apply(bench.settings, refolds)
    for _ in range(2):
        with bench.worker() as worker:
            worker.wait_until_ready()
            bench.wait_until_done(worker)
        bench.feed(20, keys=20)
    changelog = {each.key(): unpack(each.value() or b"") for each in bench.read(_changelog(bench))}
    assert {generation for generation, _, _ in changelog.values()} == {1}
    assert [json.loads(entry)["n"] for _, _, entry in changelog.values()] == [11] * 20
    assert len(bench.read("out-a")) == 200 + 200 + 20


def test_a_table_that_is_not_there_is_named() -> None:
    """A misspelt table is refused with the names of those that there are."""
    with pytest.raises(Misconfigured, match="--table: c is none of a, b"):
        choose([CountingFold("a"), CountingFold("b")], "c")


def _partitions(bench: Bench) -> list[TablePartition]:
    return partitions_of(bench.settings, [CountingFold("a")])


def _changelog(bench: Bench) -> str:
    return f"{bench.settings.streams.app_id}-a-changelog"
