"""What every stage's wiring shares: one way to count."""

from apache_beam.metrics import Metrics

_NAMESPACE = "memlake"


def count(name: str, by: int = 1) -> None:
    """Add to a counter of the job; counters of one name add up over all workers."""
    if by:
        Metrics.counter(_NAMESPACE, name).inc(by)
