"""Metrics: the catalogue (what is counted), the registry (the counts of this process) and the page that shows them.

metrics = Metrics()
metrics.counter(DEAD_LETTERS, stage="ingress", error="DecodeError").inc()
with serving(metrics, settings.metrics): ...
"""
