"""The retry policy: pure, so that every wait and every class of failure can be looked at."""

from email.utils import formatdate
from random import Random

import pytest

from memlake.transforms.llm.protocol.retry import RetryPolicy, delay, judge, retry_after

POLICY = RetryPolicy(attempts=6, first_delay_s=0.5, most_delay_s=30.0, budget_s=180.0)


def test_the_last_attempt_is_followed_by_none():
    assert delay(POLICY, 4, None, 0.0, 0.5) is not None
    assert delay(POLICY, 5, None, 0.0, 0.5) is None
    assert delay(POLICY, 5, 0.0, 0.0, 0.5) is None


def test_waits_are_drawn_from_zero_up_to_a_limit_that_doubles():
    limits = [delay(RetryPolicy(attempts=99), attempt, None, 0.0, 1.0) for attempt in range(8)]
    assert limits == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert delay(POLICY, 3, None, 0.0, 0.0) == 0
    assert delay(RetryPolicy(attempts=10**9), 10**8, None, 0.0, 1.0) == 30


def test_what_the_server_asks_for_is_waited_and_never_less():
    draws = Random(7)
    waits = [delay(POLICY, 0, 2.0, 0.0, draws.random()) for _ in range(200)]
    assert min(waits) >= 2.0
    assert max(waits) <= 2.5
    assert len(set(waits)) == 200  # those who were told the same do not come back at once


def test_a_wait_longer_than_the_rest_of_the_budget_ends_the_call():
    assert delay(POLICY, 0, 181.0, 0.0, 0.5) is None
    assert delay(POLICY, 0, 100.0, 79.9, 0.5) == pytest.approx(100.0, abs=0.3)
    assert delay(POLICY, 0, 100.0, 80.1, 0.5) is None
    assert delay(POLICY, 0, None, 180.0, 0.0) is None
    assert delay(POLICY, 0, float("inf"), 0.0, 0.5) is None


def test_waits_and_calls_together_never_pass_the_budget():
    draws = Random(11)
    for _ in range(500):
        elapsed = 0.0
        for attempt in range(POLICY.attempts):
            elapsed += draws.random() * 60
            asked = draws.choice([None, draws.random() * 90])
            wait = delay(POLICY, attempt, asked, elapsed, draws.random())
            if wait is None:
                break
            assert wait >= 0
            elapsed += wait
            assert elapsed <= POLICY.budget_s
        else:
            pytest.fail("there is an attempt too many")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": formatdate(1_000_020, usegmt=True)}, 20.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e400"}, float("inf")),
        ({"retry-after": "next Tuesday"}, None),
        ({"retry-after": "Wed, 99 Foo 2026 25:61:61 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_milliseconds_or_a_date(headers, seconds):
    assert retry_after(headers, now=1_000_000.0) == seconds


def _error(**fields):
    return {"error": {"message": "prose that says quota, key, context length", **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "came_to"),
    [
        (429, _error(code="rate_limit_exceeded", type="requests"), "transient", "transient"),
        (429, _error(code=None, type="tokens"), "transient", "transient"),
        (408, _error(), "transient", "transient"),
        (409, _error(), "transient", "transient"),
        (500, _error(type="server_error"), "transient", "transient"),
        (503, _error(type="unavailable_error", code=503), "transient", "transient"),
        (502, "<html>bad gateway</html>", "transient", "transient"),
        (529, None, "transient", "transient"),
        (401, _error(code="invalid_api_key"), "fatal", "model_refused"),
        (403, _error(type="permission_error"), "fatal", "model_refused"),
        (404, _error(code="model_not_found"), "fatal", "model_refused"),
        (404, {"detail": "Not Found"}, "fatal", "model_refused"),
        (501, _error(type="not_supported_error", code=501), "fatal", "model_refused"),
        (429, _error(code="insufficient_quota", type="insufficient_quota"), "fatal", "model_quota"),
        (429, _error(code="billing_hard_limit_reached"), "fatal", "model_quota"),
        (403, _error(code="billing_not_active", type="billing_not_active"), "fatal", "model_quota"),
        (402, _error(), "fatal", "model_quota"),
        (400, _error(code="context_length_exceeded", param="messages"), "item", "too_long"),
        (400, _error(code="string_above_max_length"), "item", "too_long"),
        (400, _error(type="exceed_context_size_error", code=400, n_ctx=8192, n_prompt_tokens=9000), "item", "too_long"),
        (500, _error(type="exceed_context_size_error", code=500, n_ctx=256), "item", "too_long"),
        (400, _error(type="BadRequestError", param="input_tokens", code=400), "item", "too_long"),
        (413, "too big", "item", "too_long"),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens", "code": None}}, "item", "too_long"),
        (400, {"error": {"message": "litellm.ContextWindowExceededError: x", "type": None, "code": "400"}}, "item", "too_long"),
        (400, _error(code="content_filter"), "item", "filtered"),
        (403, _error(code="content_policy_violation"), "item", "filtered"),
        (400, _error(innererror={"code": "ResponsibleAIPolicyViolation"}), "item", "filtered"),
        (400, _error(type="invalid_request_error", code="invalid_value"), "item", "rejected"),
        (400, _error(type="invalid_request_error", param="max_tokens", code="unsupported_parameter"), "item", "rejected"),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs", "type": "extra_forbidden"}]}, "item", "rejected"),
        (425, _error(), "transient", "transient"),
        (405, "Method Not Allowed", "fatal", "model_refused"),
        (307, "", "fatal", "model_refused"),
        (400, _error(type="invalid_request_error", param="input_tokens"), "item", "rejected"),
        (400, {"error": {"message": "maximum context length", "code": "invalid_prompt"}}, "item", "rejected"),
        (400, {"error": {"message": "not litellm.ContextWindowExceededError"}}, "item", "rejected"),
        (400, "plain text", "item", "rejected"),
        (400, [1, 2], "item", "rejected"),
        (400, {"error": "just a string"}, "item", "rejected"),
        (400, {"error": {"message": {"nested": 1}, "code": ["odd"], "type": 7}}, "item", "rejected"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_status_and_fields(status, body, kind, came_to):
    failure = judge(status, body, {}, 0.0)
    assert (failure.kind, failure.stop or failure.outcome) == (kind, came_to)
    assert failure.detail.startswith(f"HTTP {status}: ")


def test_what_the_server_said_is_in_the_detail_in_every_dialect():
    for body in ({"error": {"message": "why"}}, {"error": "why"}, {"detail": "why"}, {"message": "why"}, "why"):
        assert judge(400, body, {}, 0.0).detail == "HTTP 400: why"
    assert judge(400, {"detail": [{"loc": ["body"], "msg": "why"}]}, {}, 0.0).detail == "HTTP 400: why at ['body']"
    assert judge(503, None, {}, 0.0).detail == "HTTP 503: no reason given"


def test_the_parameter_that_a_fault_is_about_is_found_in_every_dialect():
    assert judge(400, _error(param="max_tokens"), {}, 0.0).param == "max_tokens"
    assert judge(422, {"detail": [{"loc": ["body", "seed"], "msg": "x", "type": "y"}]}, {}, 0.0).param == "seed"
    assert judge(400, {"object": "error", "message": "m", "param": "seed", "code": 400}, {}, 0.0).param == "seed"


def test_a_page_of_html_is_cut_to_a_line_of_the_journal():
    assert len(judge(502, "<p>" * 100_000, {}, 0.0).detail) <= 2000
