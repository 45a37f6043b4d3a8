"""When a call is tried again, and which failures are worth it: the one policy, whatever the server."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from memlake.transforms.llm.protocol.model import Outcome

_LONGEST_DETAIL = 2000
# By the fields `code` and `type` of an error, lower case. Their prose changes; these do not.
_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded"}
_TOO_LONG = {
    "context_length_exceeded",
    "string_above_max_length",
    "max_tokens_per_request_exceeded",  # embeddings
    "request_too_large",
    "exceed_context_size_error",  # llama.cpp: a type, with n_prompt_tokens and n_ctx beside it, status 400 or 500
}
_FILTERED = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
# vLLM sends no code: {"type": "BadRequestError", "param": "input_tokens", "code": 400}; with 'max_tokens' the input and
# the room for the reply do not fit together.
_TOO_LONG_PARAMETERS = {"input_tokens", "input_text", "max_tokens", "max_completion_tokens"}
# LiteLLM's proxy has neither code nor type: the class of its error opens the message.
_LITELLM: dict[str, Outcome] = {
    "litellm.ContextWindowExceededError": "too_long",
    "litellm.ContentPolicyViolationError": "filtered",
}
_TRANSIENT = {408, 409, 425, 429}


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


@dataclass(frozen=True, slots=True)
class Failure:
    """What a failed exchange means.

    Attributes:
        kind: transient (may pass), fatal (the run must stop) or item (this request's own fault).
        outcome: of a failure of kind item: too_long, filtered or rejected.
        stop: of a fatal one, the code of ModelStoppedError.
        detail: what the server said, in at most 2,000 characters.
        code, param: as the server named them; '' when it did not.
        retry_after_s: how long the server asked to wait.
    """

    kind: Literal["transient", "fatal", "item"]
    detail: str
    outcome: Outcome = "transient"
    stop: str = ""
    code: str = ""
    param: str = ""
    status: int | None = None
    retry_after_s: float | None = None


def delay(
    policy: RetryPolicy, attempt: int, retry_after_s: float | None, elapsed_s: float, random: float
) -> float | None:
    """Seconds to wait before the next attempt; None to give up.

    Exponential back-off with full jitter. A wait that the server asked for is kept to, plus jitter so that those who
    were told the same do not come back at once; one that is longer than what is left of the budget ends the call.

    Args:
        attempt: the one that failed, from 0.
        elapsed_s: of the budget, spent so far.
        random: uniform in [0, 1).
    """
    left = policy.budget_s - elapsed_s
    if attempt + 1 >= policy.attempts or left <= 0:
        return None
    # 2**60 half-seconds are past any limit; a float power of thousands would overflow.
    jitter = random * min(policy.most_delay_s, policy.first_delay_s * 2.0 ** min(attempt, 60))
    if retry_after_s is not None:
        return min(retry_after_s + min(jitter, policy.first_delay_s), left) if retry_after_s <= left else None
    return jitter if jitter <= left else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait, by retry-after-ms or Retry-After (seconds or an HTTP date); None if it does not.

    Args:
        headers: by lower-case name.
        now: seconds since 1970, from which a date is counted.
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(name, ""))
        except ValueError:
            continue
        if not math.isnan(asked):
            return max(asked / scale, 0.0)
    try:
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def judge(status: int, body: object, headers: Mapping[str, str], now: float) -> Failure:
    """Classify an HTTP error by its status and its fields.

    Args:
        body: parsed when it was JSON, else text.
        headers: by lower-case name.
    """
    error = _error(body)
    code, kind, param = (_word(error.get(name)) for name in ("code", "type", "param"))
    message = _word(error.get("message")) or _word(body) or "no reason given"
    detail = f"HTTP {status}: {message}"[:_LONGEST_DETAIL]
    names = {code.lower(), kind.lower(), _word(mapping(error.get("innererror")).get("code")).lower()}

    def item(outcome: Outcome) -> Failure:
        return Failure("item", detail, outcome, code=code, param=param, status=status)

    def fatal(stop: str) -> Failure:
        return Failure("fatal", detail, stop=stop, code=code, status=status)

    if names & _TOO_LONG or status == 413:
        return item("too_long")
    if names & _FILTERED:
        return item("filtered")
    if names & _QUOTA or status == 402:
        return fatal("model_quota")
    # 501 is llama.cpp without --embeddings; 405 and a redirect that leads nowhere are a wrong address.
    if status in (401, 403, 404, 405, 501) or status < 400:
        return fatal("model_refused")
    if status in _TRANSIENT or status >= 500:
        return Failure("transient", detail, code=code, status=status, retry_after_s=retry_after(headers, now))
    for name, outcome in _LITELLM.items():
        if message.startswith(name):
            return item(outcome)
    if kind == "BadRequestError" and param in _TOO_LONG_PARAMETERS:
        return item("too_long")
    # OpenAI's own embeddings and older vLLM name nothing: their sentence is all there is, and it has not changed.
    if code in ("", "400") and "maximum context length" in message:
        return item("too_long")
    return item("rejected")


def _error(body: object) -> Mapping[str, Any]:
    """The fields of an error: OpenAI nests them, older vLLM does not, FastAPI has `detail` with the place of each fault."""
    fields = mapping(body)
    if isinstance(fields.get("error"), Mapping):
        return mapping(fields["error"])
    detail = fields.get("detail")
    if isinstance(detail, list) and detail:
        first = mapping(detail[0])
        place = first.get("loc")
        named = place[1] if isinstance(place, list) and len(place) > 1 else None
        return {"message": f"{first.get('msg')} at {place}", "param": named, "type": first.get("type")}
    return {"message": fields.get("error") or detail, **fields}


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is a JSON object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _word(value: object) -> str:
    return "" if value is None else str(value)
