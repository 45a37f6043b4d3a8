"""The accounting of limits: windows, slots, cost and the reasons to stop, on a clock that the test turns."""

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.limits.quota import WINDOW_S, Limits, Quota


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def ask(quota, name, *, tokens=1, price=0.0):
    return quota.acquire(name, tokens=tokens, price_usd=price)


def end(quota, ticket, *, tokens=1, price=0.0, outcome="ok", detail=""):
    quota.release(ticket, tokens=tokens, price_usd=price, outcome=outcome, detail=detail)


def names(tickets):
    return [ticket.owner for ticket in tickets]


def test_no_more_are_admitted_than_may_be_in_flight_and_the_first_waiting_comes_first(clock):
    quota = Quota(Limits(in_flight=2), clock)
    tickets = [ask(quota, name) for name in "abcd"]
    assert names(quota.decided()) == ["a", "b"]
    assert quota.decided() == []
    end(quota, tickets[1])
    assert names(quota.decided()) == ["c"]
    assert quota.next_at() is None  # no time frees a slot
    end(quota, tickets[0])
    end(quota, tickets[2])
    assert names(quota.decided()) == ["d"]
    assert quota.most_in_flight == 2


def test_requests_a_minute_open_exactly_when_the_oldest_leaves_the_window(clock):
    quota = Quota(Limits(requests_per_minute=2), clock)
    first = ask(quota, "a")
    quota.decided()
    end(quota, first)
    clock.now += 10
    ask(quota, "b")
    ask(quota, "c")
    assert names(quota.decided()) == ["b"]
    assert quota.next_at() == 1000.0 + WINDOW_S
    clock.now = math.nextafter(1000.0 + WINDOW_S, 0)
    assert quota.decided() == []
    clock.now = 1000.0 + WINDOW_S
    assert names(quota.decided()) == ["c"]


def test_tokens_are_reserved_by_estimate_and_corrected_by_the_count(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    first = ask(quota, "a", tokens=80)
    ask(quota, "b", tokens=60)
    assert names(quota.decided()) == ["a"]
    end(quota, first, tokens=40)
    assert names(quota.decided()) == ["b"]
    ask(quota, "c", tokens=1)
    assert quota.decided() == []
    assert quota.next_at() == 1000.0 + WINDOW_S


def test_a_count_above_the_estimate_holds_the_next_back(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    first = ask(quota, "a", tokens=10)
    quota.decided()
    end(quota, first, tokens=95)
    ask(quota, "b", tokens=10)
    assert quota.decided() == []
    clock.now += WINDOW_S
    assert names(quota.decided()) == ["b"]


def test_a_large_call_is_not_overtaken_by_small_ones(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    ask(quota, "a", tokens=50)
    quota.decided()
    ask(quota, "large", tokens=90)
    ask(quota, "small", tokens=1)
    assert quota.decided() == []
    clock.now += WINDOW_S
    assert names(quota.decided()) == ["large", "small"]


def test_a_call_larger_than_the_whole_limit_gets_a_window_to_itself(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    ask(quota, "a", tokens=1)
    quota.decided()
    ask(quota, "huge", tokens=1000)
    ask(quota, "b", tokens=1)
    assert quota.decided() == []
    clock.now += WINDOW_S
    assert names(quota.decided()) == ["huge"]
    clock.now += WINDOW_S
    assert names(quota.decided()) == ["b"]


def test_what_a_dead_worker_held_goes_to_the_next_and_its_places_in_the_queue_are_gone(clock):
    quota = Quota(Limits(in_flight=2, max_cost_usd=1.0), clock)
    ask(quota, "dead", price=0.1)
    ask(quota, "dead", price=0.1)
    ask(quota, "dead")
    first, last = ask(quota, "living"), ask(quota, "living")
    ask(quota, "dead")
    quota.decided()
    quota.drop("dead")
    assert quota.decided() == [first, last]
    assert quota.in_flight == 2
    # It may have been paid: counted against the limit, and not told as spent.
    assert (quota.lost_usd, quota.spent_usd) == (0.2, 0.0)


def test_a_ticket_given_back_after_the_grant_frees_its_slot_once(clock):
    quota = Quota(Limits(in_flight=1), clock)
    first, second, third = ask(quota, "a"), ask(quota, "b"), ask(quota, "c")
    quota.decided()
    quota.take_back(first)
    quota.take_back(first)
    end(quota, first)
    assert quota.decided() == [second]
    assert quota.decided() == []
    assert third.state == "waiting"


def test_cost_waits_for_what_is_reserved_and_stops_when_it_can_never_fit(clock):
    quota = Quota(Limits(max_cost_usd=1.0), clock)
    first = ask(quota, "a", price=0.6)
    second = ask(quota, "b", price=0.6)
    assert quota.decided() == [first]
    assert quota.stopped is None
    end(quota, first, price=0.1)
    assert quota.decided() == [second]
    end(quota, second, price=0.5)
    third, fourth = ask(quota, "c", price=0.5), ask(quota, "d", price=0.1)
    assert quota.decided() == [third, fourth]
    assert third.state == fourth.state == "refused"
    assert quota.stopped is not None
    assert quota.stopped.code == "model_cost"
    assert "0.6000 is spent" in quota.stopped.message
    assert quota.calls == 2


def test_a_limit_on_cost_may_be_spent_to_the_last_cent_and_nothing_is_free_of_it_but_what_costs_nothing(clock):
    quota = Quota(Limits(max_cost_usd=0.5), clock)
    first = ask(quota, "a", price=0.5)
    assert names(quota.decided()) == ["a"]
    end(quota, first, price=0.5)
    ask(quota, "free", price=0.0)
    assert names(quota.decided()) == ["free"]
    ask(quota, "b", price=0.001)
    quota.decided()
    assert quota.stopped.code == "model_cost"


def test_what_a_dead_worker_may_have_paid_counts_as_paid(clock):
    quota = Quota(Limits(max_cost_usd=1.0), clock)
    ask(quota, "dead", price=0.6)
    quota.decided()
    quota.drop("dead")
    assert (quota.lost_usd, quota.spent_usd) == (0.6, 0.0)
    ask(quota, "b", price=0.5)
    assert names(quota.decided()) == ["b"]
    assert quota.stopped.code == "model_cost"


def test_what_was_reserved_leaves_no_crumb_that_holds_a_call_back_for_ever(clock):
    quota = Quota(Limits(max_cost_usd=0.039), clock)
    calls = [ask(quota, name, price=0.013) for name in "abc"]
    assert len(quota.decided()) == 3
    for call in calls:
        end(quota, call)
    ask(quota, "all", price=0.039)
    assert names(quota.decided()) == ["all"]


def test_a_window_lets_go_of_the_tokens_that_were_counted_and_not_of_those_reserved(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    first = ask(quota, "a", tokens=100)
    quota.decided()
    end(quota, first, tokens=10)
    clock.now += WINDOW_S
    ask(quota, "b", tokens=100)
    ask(quota, "c", tokens=1)
    assert names(quota.decided()) == ["b"]


def test_the_count_of_a_call_that_took_longer_than_a_window_is_in_none(clock):
    quota = Quota(Limits(tokens_per_minute=100), clock)
    slow = ask(quota, "slow", tokens=10)
    quota.decided()
    clock.now += WINDOW_S
    ask(quota, "a", tokens=50)
    assert names(quota.decided()) == ["a"]
    end(quota, slow, tokens=90)
    ask(quota, "b", tokens=50)
    assert names(quota.decided()) == ["b"]


def test_a_call_ends_once(clock):
    quota = Quota(Limits(in_flight=1), clock)
    first = ask(quota, "a")
    ask(quota, "b")
    quota.decided()
    end(quota, first, price=0.2)
    quota.decided()
    end(quota, first, price=0.2)
    quota.take_back(first)
    ask(quota, "c")
    assert quota.decided() == []
    assert (quota.spent_usd, quota.answered, quota.in_flight) == (0.2, 1, 1)


@pytest.mark.parametrize(
    ("outcome", "answered"), [("ok", 1), ("refused", 1), ("retry", 0), ("fatal", 0), ("unused", 0)]
)
def test_only_what_was_answered_counts_as_answered(clock, outcome, answered):
    quota = Quota(Limits(), clock)
    call = ask(quota, "a")
    quota.decided()
    end(quota, call, outcome=outcome)
    assert (quota.calls, quota.answered) == (1, answered)


def test_a_call_that_gave_up_while_it_waited_is_told_nothing_more(clock):
    quota = Quota(Limits(in_flight=1), clock)
    first, gone, other = ask(quota, "a"), ask(quota, "b"), ask(quota, "c")
    quota.decided()
    quota.take_back(gone)
    end(quota, first)
    assert quota.decided() == [other]
    assert (gone.state, other.state) == ("ended", "admitted")


def test_calls_in_flight_may_end_after_a_stop_and_nobody_else_begins(clock):
    quota = Quota(Limits(in_flight=1), clock)
    flying, waiting, last = ask(quota, "a"), ask(quota, "b"), ask(quota, "c")
    quota.decided()
    quota.stop("model_refused", "bad key", "set it")
    quota.stop("model_quota", "another", "")
    late = ask(quota, "d")
    assert quota.decided() == [waiting, last, late]
    assert {ticket.state for ticket in (waiting, last, late)} == {"refused"}
    end(quota, flying, price=0.25)
    assert quota.decided() == []
    assert (quota.stopped.code, quota.spent_usd) == ("model_refused", 0.25)
    assert quota.next_at() is None


@pytest.mark.parametrize(("in_flight", "limit"), [(1, 8), (20, 20)])
def test_so_many_failures_in_a_row_stop_the_run_with_the_last_error(clock, in_flight, limit):
    quota = Quota(Limits(in_flight=in_flight), clock)

    def fail(outcome, number):
        ticket = ask(quota, f"{outcome}{number}")
        quota.decided()
        end(quota, ticket, outcome=outcome, detail=f"error {number}")

    for number in range(limit - 1):
        fail("transient", number)
    fail("refused", 0)  # the server answered, whatever it said
    for number in range(limit - 1):
        fail("transient", number)
        fail("retry", number)  # another attempt of a call that has not ended
    assert quota.stopped is None
    fail("transient", 99)
    assert quota.stopped.code == "model_unreachable"
    assert "error 99" in quota.stopped.message
    assert str(limit) in quota.stopped.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"in_flight": 0},
        {"requests_per_minute": 0},
        {"tokens_per_minute": -1},
        {"max_cost_usd": -0.1},
        {"max_cost_usd": math.nan},
    ],
)
def test_limits_that_allow_nothing_are_refused(wrong):
    with pytest.raises(UsageError, match=r"allows no call|no amount"):
        Limits(**wrong)


CALLS = st.lists(
    st.tuples(
        st.integers(1, 60),  # tokens
        st.floats(0, 1),  # share of them that it really takes
        st.floats(0, 0.3),  # price
        st.floats(0, 40),  # seconds until the next event
        st.sampled_from(["ok", "retry", "drop", "cancel"]),
    ),
    max_size=40,
)


class Job:
    """Drives a quota as workers would, and checks at every turn what must hold."""

    def __init__(self, limits):
        self.clock, self.limits = Clock(), limits
        self.quota = Quota(limits, self.clock)
        self.admitted, self.real, self.flying, self.waiting = [], {}, deque(), []

    def ask(self, owner, size, share, price):
        ticket = self.quota.acquire(owner, tokens=size, price_usd=price)
        self.real[ticket] = int(size * share)
        self.waiting.append(ticket)
        self.look()

    def look(self):
        for ticket in self.quota.decided():
            self.waiting.remove(ticket)
            if ticket.state == "admitted":
                self.admitted.append((self.clock.now, ticket))
                self.flying.append(ticket)
                reserved = sum(ticket.price_usd for ticket in self.flying)
                assert self.quota.spent_usd + self.quota.lost_usd + reserved <= self.limits.max_cost_usd + 1e-9
        assert len(self.flying) <= self.limits.in_flight

    def turn(self, seconds):
        until = self.clock.now + seconds
        while (at := self.quota.next_at()) is not None and at <= until:
            assert at > self.clock.now
            self.clock.now = at
            self.look()
        self.clock.now = until
        self.look()

    def end_one(self, outcome, share):
        ended = self.flying.popleft()
        if outcome == "drop":
            self.quota.drop(ended.owner)
        elif outcome == "cancel":
            self.quota.take_back(ended)
        else:
            price = ended.price_usd * share
            self.quota.release(ended, tokens=self.real[ended], price_usd=price, outcome=outcome)
        self.look()

    def check_windows(self):
        for at, _ in self.admitted:
            window = [ticket for then, ticket in self.admitted if at <= then < at + WINDOW_S]
            assert len(window) <= self.limits.requests_per_minute
            taken = sum(min(ticket.tokens, self.real[ticket]) for ticket in window)
            assert taken <= self.limits.tokens_per_minute


@given(CALLS, st.integers(1, 3), st.integers(1, 4), st.integers(60, 120))
def test_whatever_happens_no_window_slot_or_budget_is_passed(events, in_flight, requests, tokens):
    job = Job(Limits(in_flight, requests, tokens, 2.0))
    for number, (size, share, price, seconds, outcome) in enumerate(events):
        job.ask(number, size, share, price)
        job.turn(seconds)
        if job.flying:
            job.end_one(outcome, share)
    job.check_windows()
    # Once everything in flight has ended and time has passed, nobody is left waiting.
    for _ in range(len(events) + 1):
        while job.flying:
            job.end_one("ok", 0)
        job.turn(WINDOW_S)
    assert job.waiting == []


def test_an_attempt_that_is_tried_again_goes_before_those_that_were_not_tried_yet():
    quota = Quota(Limits(in_flight=1), Clock())
    first = quota.acquire("w", tokens=1, price_usd=0.0)
    assert quota.decided() == [first]
    waiting = [quota.acquire("w", tokens=1, price_usd=0.0) for _ in range(2)]
    quota.release(first, tokens=0, price_usd=0.0, outcome="retry")
    second_try = quota.acquire("w", tokens=1, price_usd=0.0, again=True)
    assert quota.decided() == [second_try]
    quota.release(second_try, tokens=1, price_usd=0.0, outcome="ok")
    assert quota.decided() == [waiting[0]]
