"""How often and how long one request is tried."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one request is tried.

    Attributes:
        attempts: calls in all, the first among them.
        first_delay_s: upper end of the first wait; it doubles with every further one.
        most_delay_s: upper end of any wait that the server did not ask for.
        budget_s: calls and waits together; the time that a request queues for its turn does not count.
    """

    attempts: int = 6
    first_delay_s: float = 0.5
    most_delay_s: float = 30.0
    budget_s: float = 180.0
