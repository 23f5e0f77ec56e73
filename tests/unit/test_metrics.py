"""The catalogue of metrics, the counts of a process, and where they are shown."""

from __future__ import annotations

import re
import urllib.request
from importlib import import_module
from pkgutil import iter_modules

import pytest

from runtime.metrics import catalogue
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.catalogue.ingress import INGRESS_IN_FLIGHT
from runtime.metrics.catalogue.projectors import PROJECTOR_BATCH_RECORDS
from runtime.metrics.catalogue.shared import DEAD_LETTERS
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.metrics.spec import CounterSpec, GaugeSpec, HistogramSpec
from runtime.settings import MetricsSettings
from schemas.errors import Misconfigured


def test_every_metric_is_in_the_catalogue_once() -> None:
    """What a module of the catalogue defines is listed, and no two share a name."""
    modules = [import_module(f"{catalogue.__name__}.{each.name}") for each in iter_modules(catalogue.__path__)]
    defined = {
        each.name
        for module in modules
        for each in vars(module).values()
        if isinstance(each, CounterSpec | GaugeSpec | HistogramSpec)
    }
    assert defined == {each.name for each in CATALOGUE}
    assert len(CATALOGUE) == len(defined)


@pytest.mark.parametrize("spec", CATALOGUE, ids=lambda spec: spec.name)
def test_names_follow_the_conventions(spec: CounterSpec | GaugeSpec | HistogramSpec) -> None:
    """Prefix, lower case, `_total` on counters alone, and no label that could name a meeting, a room or a person."""
    assert re.fullmatch(r"roomkeeper_[a-z0-9_]+", spec.name)
    assert spec.name.endswith("_total") is isinstance(spec, CounterSpec)
    assert not {"meeting", "meeting_id", "room", "zoom_id", "person", "email", "user"} & set(spec.labels)
    assert spec.meaning.endswith(".")


def test_a_metric_shows_once_it_is_used() -> None:
    """A role shows what it counts, and nothing of other roles."""
    metrics = Metrics()
    metrics.counter(DEAD_LETTERS, stage="ingress", error="DecodeError").inc(2)
    metrics.histogram(PROJECTOR_BATCH_RECORDS, projection="rooms").observe(4)
    text = metrics.exposition()[0].decode()
    assert 'roomkeeper_dead_letters_total{error="DecodeError",stage="ingress"} 2.0' in text
    assert 'roomkeeper_projector_batch_records_bucket{le="10.0",projection="rooms"} 1.0' in text
    assert "roomkeeper_streams" not in text


def test_values_are_read_back() -> None:
    """What was never used is 0."""
    metrics = Metrics()
    metrics.gauge(INGRESS_IN_FLIGHT).set(3)
    assert metrics.value(INGRESS_IN_FLIGHT) == 3
    assert metrics.value(DEAD_LETTERS, stage="a", error="b") == 0


def test_other_labels_than_the_catalogues_are_refused() -> None:
    """A label that nobody documented is a mistake at its first use."""
    with pytest.raises(ValueError, match=r"[Ii]ncorrect label"):
        Metrics().counter(DEAD_LETTERS, stage="a", zoom_id="b")


def test_metrics_are_served_while_the_context_lasts() -> None:
    """Any free port serves them to whoever asks."""
    metrics = Metrics()
    metrics.gauge(INGRESS_IN_FLIGHT).set(1)
    with serving(metrics, MetricsSettings(port=0)) as port:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
    assert b"roomkeeper_ingress_in_flight_requests 1.0" in answer


def test_metrics_are_off_without_a_port() -> None:
    """Nothing listens unless asked to."""
    with serving(Metrics(), MetricsSettings()) as port:
        assert port is None


def test_a_taken_port_names_the_setting() -> None:
    """Two processes on one port: the second ends with a line that says what to change."""
    with (
        serving(Metrics(), MetricsSettings(port=0)) as port,
        pytest.raises(Misconfigured, match="ROOMKEEPER_METRICS__PORT"),
        serving(Metrics(), MetricsSettings(port=port)),
    ):
        pass
