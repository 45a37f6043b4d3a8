"""Cross-encoders of FlagEmbedding: a question and a text together, to one score."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from memlake.transforms.base.arrays import Bools, Float32s, Floats
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.checkpoint import extra_imports, find_checkpoint
from memlake.transforms.embed.embedder import Spec, parse_spec
from memlake.transforms.embed.run_torch import Place, batches_of, max_length_of, padded, place_of, quiet_libraries

# Rerankers that go by their own name, and whose weights these are.
RERANKERS = {
    "bge-reranker-v2-m3": "BAAI/bge-reranker-v2-m3",
    "bge-reranker-base": "BAAI/bge-reranker-base",
    "bge-reranker-large": "BAAI/bge-reranker-large",
}
_ANY = "reranker"
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scored:
    """The model's own scores of pairs, logits in float32, and how many pairs were longer than its longest input."""

    logits: Float32s
    cut: int

    @property
    def normalised(self) -> Floats:
        """The scores through the sigmoid, 0 to 1, as FlagEmbedding documents `normalize`."""
        return 1.0 / (1.0 + np.exp(-self.logits.astype(np.float64)))


class Reranker:
    """A loaded cross-encoder; scores are those of FlagEmbedding's FlagReranker, whatever the batch, to rounding."""

    def __init__(self, library: Any, place: Place, most: int, model: str, revision: str) -> None:
        self.model, self.revision = model, revision
        self._library, self._place, self._most = library, place, most
        # A tokeniser holds its settings in itself: two threads at once would spoil each other's.
        self._lock = Lock()

    def score(self, pairs: Sequence[Pair], *, max_length: int) -> Scored:
        """Score pairs of question and text, each distinct pair once, in batches by length.

        Args:
            max_length: longest pair in tokens; the question takes up to three quarters of it, the text is cut first.

        Raises:
            UsageError: max_length is more than the model takes.
        """
        import torch

        if max_length > self._most:
            raise UsageError(
                f"model={self.model!r} max_length={max_length}: it takes up to {self._most} tokens", hint="ask for less"
            )
        if not pairs:
            return Scored(np.empty(0, np.float32), 0)
        distinct = list(dict.fromkeys(pairs))
        place = {pair: number for number, pair in enumerate(distinct)}
        logits = np.zeros(len(distinct), np.float32)
        with self._lock, torch.inference_mode():
            inputs, cut = self._inputs(distinct, max_length)
            lengths = np.array([len(pair["input_ids"]) for pair in inputs], np.int64)
            for rows in batches_of(lengths, self._place.tokens):
                batch = padded(self._library.tokenizer, [inputs[row] for row in rows], self._place.device)
                logits[rows] = self._library.model(**batch, return_dict=True).logits.view(-1).float().cpu().numpy()
        of_pair = np.array([place[pair] for pair in pairs], np.int64)
        return Scored(logits[of_pair], int(cut[of_pair].sum()))

    def _inputs(self, pairs: Sequence[Pair], max_length: int) -> tuple[list[Any], Bools]:
        """Pairs as FlagReranker cuts and joins them, and which of them it had to cut."""
        from FlagEmbedding.utils.tokenizer_compat import prepare_for_model_compat

        tokenizer = self._library.tokenizer
        most = (max_length * 3 // 4, max_length)
        ids: list[dict[str, list[int]]] = []
        long: list[set[str]] = []
        for limit, texts in zip(most, zip(*pairs, strict=True), strict=True):
            different = list(dict.fromkeys(texts))
            whole = tokenizer(different, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
            long.append({text for text, found in zip(different, whole, strict=True) if len(found) > limit})
            short = tokenizer(different, add_special_tokens=False, truncation=True, max_length=limit)["input_ids"]
            ids.append(dict(zip(different, short, strict=True)))
        special = tokenizer.num_special_tokens_to_add(pair=True)
        inputs, cut = [], np.zeros(len(pairs), np.bool_)
        for number, (question, text) in enumerate(pairs):
            both = ids[0][question], ids[1][text]
            inputs.append(
                prepare_for_model_compat(
                    tokenizer, *both, truncation="only_second", max_length=max_length, padding=False
                )
            )
            joined = sum(map(len, both)) + special
            cut[number] = question in long[0] or text in long[1] or joined > max_length
        return inputs, cut


def check_reranker(text: str) -> Spec:
    """Read the name of a reranker, without loading anything.

    Raises:
        NotFoundError: there is none of that name.
        UsageError: a checkpoint or an option is not allowed.
    """
    spec = parse_spec(text, ["bge-reranker-v2-m3", _ANY])
    if spec.kind not in RERANKERS and spec.kind != _ANY:
        raise NotFoundError(
            f"no reranker is named {spec.kind!r}: {', '.join(RERANKERS)}, {_ANY}@FOLDER, {_ANY}@HUB_ID",
            hint='model = "bge-reranker-v2-m3"',
        )
    unused = [name for name in ("max_length", "pooling") if getattr(spec.options, name) is not None]
    if unused:
        raise UsageError(f"reranker={text!r}: {unused[0]} is no option of a reranker", hint="max_length is a setting")
    return spec


# Two at most: a study compares few, and each holds gigabytes.
@lru_cache(maxsize=2)
def _loaded(text: str) -> Reranker:
    spec = check_reranker(text)
    found = find_checkpoint(spec, hub_id=RERANKERS.get(spec.kind, ""))
    place = place_of(spec)
    with extra_imports(spec.kind):
        from FlagEmbedding import FlagReranker
    if place.dtype == "bf16":
        raise UsageError(f"reranker={text!r}: FlagEmbedding runs rerankers in fp32 or fp16", hint="leave dtype= out")
    quiet_libraries()
    library = FlagReranker(str(found.folder), use_fp16=place.dtype == "fp16", devices=place.device)
    if place.dtype == "fp16":
        library.model.half()
    library.model.to(place.device).eval()
    config = library.model.config
    if config.num_labels != 1:
        raise UsageError(
            f"reranker={text!r} gives {config.num_labels} scores a pair: a reranker gives one",
            hint="name a reranker's checkpoint",
        )
    return Reranker(library, place, max_length_of(library.tokenizer, config, spec), found.model, found.revision)


_loading = Lock()


def load_reranker(text: str) -> Reranker:
    """Load a reranker by NAME or NAME@CHECKPOINT, once a process; opens no connection.

    Raises:
        NotFoundError: none is named so, or FlagEmbedding or the weights are not here; the hint fetches them.
        UsageError: an option that the model or the machine cannot follow.
    """
    with _loading:
        return _loaded(text)
