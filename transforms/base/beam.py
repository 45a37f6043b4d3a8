"""What every stage's wiring shares: one way to count, and one way in which batches travel."""

import pickle

from apache_beam.coders import Coder, registry
from apache_beam.metrics import Metrics

from memlake.transforms.base.batch import Batch

_NAMESPACE = "memlake"
# A row of any of a batch's tables, about: exact sizes would cost as much as they are worth.
_ROW_BYTES = 500


def count(name: str, by: int = 1) -> None:
    """Add to a counter of the job; counters of one name add up over all workers."""
    if by:
        Metrics.counter(_NAMESPACE, name).inc(by)


class BatchCoder(Coder):
    """Batches by pickle, as Beam would; but their size is looked up.

    Beam measures the elements of every stage, and for a type that it does not know it pickles them to do so: some
    megabytes a batch, at each of the stages. A stage whose outputs are declared to be batches is spared that.
    """

    def encode(self, value: Batch) -> bytes:
        """The batch's bytes."""
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def decode(self, encoded: bytes) -> Batch:
        """The batch again."""
        batch: Batch = pickle.loads(encoded)  # noqa: S301 - what this job's own workers encoded
        return batch

    def estimate_size(self, value: Batch) -> int:
        """About how many bytes it has."""
        tables = (*value.tables.values(), *value.vectors.values(), value.parts)
        return _ROW_BYTES * sum(table.num_rows for table in tables)

    def is_deterministic(self) -> bool:
        """Batches are never keys."""
        return False


registry.register_coder(Batch, BatchCoder)
