"""How the models are: which server is configured, whether it answers, what it costs, what is installed."""

import os
import urllib.error
import urllib.request
from importlib import metadata

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.llm.driver import prices_of
from memlake.transforms.llm.edge import KEY_VARIABLE, is_key, without_secrets
from memlake.transforms.llm.records.prices import find_price
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.text.token_counts import find_counter

_ANSWER_LIMIT_S = 3.0
# Of the extra `bge`: none is needed until a model runs in this process.
_LOCAL = ("FlagEmbedding", "sentence-transformers", "torch", "transformers")


def model_health(models: ModelSettings, problems: list[str]) -> dict[str, object]:
    """Facts about the models; asks the server for its list of models, where one is configured, and for nothing else."""
    facts: dict[str, object] = {"model": models.model or None, "tokeniser": find_counter().name}
    local = {name: installed(name) for name in _LOCAL}
    facts["local"] = ", ".join(f"{name} {version}" for name, version in local.items() if version) or None
    try:
        facts |= {"server": without_secrets(models.server), "provider": models.provider_name}
        price = find_price(prices_of(models), models.model)
    except MemlakeError as error:
        problems.append(f"{error.message}; {error.hint}")
        return facts
    if price is not None:
        facts["price"] = f"{price.input} in, {price.output} out, US dollars a million tokens as of {price.as_of}"
    facts["key"] = f"{KEY_VARIABLE} is {'set' if os.environ.get(KEY_VARIABLE) else 'not set'}"
    if not (models.model or models.base_url or os.environ.get("OPENAI_BASE_URL")):
        return facts | {"answers": "not asked: no model is configured"}
    fault = _fault(models.server)
    if fault:
        problems.append(
            f"the model server {facts['server']} {fault}; base_url or OPENAI_BASE_URL names it, {KEY_VARIABLE} is its key"
        )
    return facts | {"answers": "no" if fault else "yes"}


def _fault(server: str) -> str:
    """What goes wrong when the server is asked for its models; '' for nothing."""
    request = urllib.request.Request(f"{server.rstrip('/')}/models")  # noqa: S310 - `server` is http or https
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not is_key(key):
        return f"is not asked: {KEY_VARIABLE} holds a sign that no key has"
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_LIMIT_S) as reply:  # noqa: S310
            reply.read(1)
    except urllib.error.HTTPError as error:
        return f"answers HTTP {error.code}"
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return f"does not answer: {' '.join(str(reason).split())[:200]}"
    return ""


def installed(name: str) -> str | None:
    """The version of an installed package; None where there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
