"""How local models are run: device, precision and threads, texts as tokens, batches by length."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.checkpoint import extra_imports
from memlake.transforms.embed.embedder import Spec

# Tokens of a batch, padding among them: small enough for a CPU's caches, large enough for a GPU.
_TOKENS = {"cpu": 8192, "cuda": 65_536}
_MOST_ROWS = 256
# What a tokeniser says when it knows no limit of its own.
_NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how a model runs; `dtype` is fp32, bf16 or fp16, `tokens` what a batch may hold."""

    device: str
    dtype: str
    tokens: int


def place_of(spec: Spec) -> Place:
    """Where a spec's model runs: as its options say, else CUDA with fp16 where there is one, else the CPU with fp32.

    Raises:
        NotFoundError: torch is not installed.
        UsageError: CUDA is asked for and is not there, or fp16 on a CPU.
    """
    with extra_imports(spec.kind):
        import torch
    asked = spec.options.device
    there = torch.cuda.is_available()
    if asked is not None and asked != "cpu" and not there:
        raise UsageError(f"{spec.text!r}: device={asked!r}: torch finds no CUDA device", hint="leave device= out")
    device = asked or ("cuda" if there else "cpu")
    on = "cpu" if device == "cpu" else "cuda"
    if on == "cpu" and spec.options.dtype == "fp16":
        raise UsageError(f"{spec.text!r}: dtype='fp16' on a CPU: fp32 and bf16 are allowed", hint="dtype=bf16")
    # torch names the second device cuda:1.
    named = f"cuda:{device.removeprefix('cuda')}" if device.removeprefix("cuda").isdecimal() else device
    return Place(named, spec.options.dtype or ("fp16" if on == "cuda" else "fp32"), spec.options.tokens or _TOKENS[on])


def share_threads(workers: int) -> None:
    """Give torch this process's share of the cores; with all of them in each worker they would fight."""
    import torch

    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // max(workers, 1)))


def quiet_libraries() -> None:
    """Keep model libraries off the terminal: no progress bars, no advice."""
    from transformers.utils import logging

    untyped: Any = logging
    untyped.set_verbosity_error()
    untyped.disable_progress_bar()


def max_length_of(tokenizer: Any, config: Any, spec: Spec) -> int:
    """The longest input in tokens, special ones among them.

    Raises:
        UsageError: the spec asks for more than the model has positions, or neither says how many there are.
    """
    positions = getattr(config, "max_position_embeddings", None)
    if positions and getattr(config, "position_embedding_type", "absolute") == "absolute":
        # Models of RoBERTa's kind count positions from behind the padding token's.
        positions -= config.pad_token_id + 1 if getattr(config, "model_type", "") in _ROBERTAS else 0
    limits = [limit for limit in (tokenizer.model_max_length, positions) if limit and limit < _NO_LIMIT]
    most = min(limits, default=None)
    asked = spec.options.max_length
    if asked is not None and most is not None and asked > most:
        raise UsageError(f"{spec.text!r}: max_length={asked}: the model takes up to {most} tokens", hint="ask for less")
    chosen = asked or most
    if chosen is None:
        raise UsageError(f"{spec.text!r}: the checkpoint does not say its longest input", hint="add ,max_length=512")
    return int(chosen)


_ROBERTAS = ("xlm-roberta", "roberta", "xlm-roberta-xl", "camembert", "mpnet")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Texts as a model takes them: one mapping of lists a text, cut to its longest input; which were, and how long."""

    inputs: Sequence[Mapping[str, list[int]]]
    cut: Mapping[int, tuple[int, int]]

    @property
    def lengths(self) -> Ints:
        """Tokens of each text, special ones among them."""
        return np.array([len(text["input_ids"]) for text in self.inputs], np.int64)


def tokens_of(tokenizer: Any, texts: Sequence[str], max_length: int) -> Tokens:
    """Tokenise texts as a whole, and those that are too long once more as the tokeniser itself cuts them."""
    if not texts:
        return Tokens([], {})
    whole = tokenizer(list(texts), truncation=False, padding=False, verbose=False)
    inputs = _rows(whole, len(texts))
    long = [place for place, text in enumerate(inputs) if len(text["input_ids"]) > max_length]
    cut: dict[int, tuple[int, int]] = {}
    if long:
        short = tokenizer([texts[place] for place in long], truncation=True, max_length=max_length, padding=False)
        for place, text in zip(long, _rows(short, len(long)), strict=True):
            cut[place] = (len(text["input_ids"]), len(inputs[place]["input_ids"]))
            inputs[place] = text
    return Tokens(inputs, cut)


def _rows(encoded: Any, count: int) -> list[Mapping[str, list[int]]]:
    columns = {name: list(values) for name, values in encoded.items()}
    return [{name: values[place] for name, values in columns.items()} for place in range(count)]


def batches_of(lengths: Ints, tokens: int) -> Iterator[Ints]:
    """Cut texts into batches, longest first so that little is padding; ties by place, so the order is one."""
    order = np.lexsort((np.arange(len(lengths)), -lengths))
    start = 0
    while start < len(order):
        rows = int(np.clip(tokens // max(int(lengths[order[start]]), 1), 1, _MOST_ROWS))
        yield order[start : start + rows]
        start += rows


def padded(tokenizer: Any, inputs: Sequence[Mapping[str, list[int]]], device: str) -> Any:
    """One batch as tensors on the device."""
    columns = {name: [text[name] for text in inputs] for name in inputs[0]}
    return tokenizer.pad(columns, padding=True, return_tensors="pt").to(device)
