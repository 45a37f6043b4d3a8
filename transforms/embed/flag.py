"""bge-m3, bge-m3-multi and flag: models of FlagEmbedding, run in batches by length.

The library's classes load the model and are called for every batch. Its own `encode` is not: it runs the longest batch
twice, turns every RuntimeError into a smaller batch without end, and gives sparse weights as dictionaries of texts.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from memlake.schemas.vectors import embedder_name
from memlake.transforms.base.arrays import Float32s, Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.checkpoint import PLAIN, Checkpoint, extra_imports, find_checkpoint
from memlake.transforms.embed.embedder import EmbedderCard, Encoded, Encoder, Spec, ragged
from memlake.transforms.embed.run_torch import (
    Place,
    Tokens,
    batches_of,
    max_length_of,
    padded,
    place_of,
    quiet_libraries,
    tokens_of,
)

M3_HUB_ID = "BAAI/bge-m3"
_HEADS = ("colbert_linear.pt", "sparse_linear.pt")
# Raised when this module's output changes for the same files.
_REVISION = 1
_SPECIAL = ("cls_token", "eos_token", "pad_token", "unk_token")


class _Encoder(Encoder):
    """A model of FlagEmbedding as it is run here: texts are tokenised once, and cut into batches by length."""

    def __init__(self, library: Any, card: EmbedderCard, place: Place, max_length: int) -> None:
        self.card = card
        self._library, self._tokenizer, self._model = library, library.tokenizer, library.model
        self._place, self._max_length = place, max_length
        # A tokeniser holds its settings in itself: two threads at once would spoil each other's.
        self._lock = Lock()

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:  # noqa: ARG002 - the same for both
        """All outputs, and which texts were cut."""
        import torch

        with self._lock, torch.inference_mode():
            tokens = tokens_of(self._tokenizer, texts, self._max_length)
            batches = (
                (rows, padded(self._tokenizer, [tokens.inputs[row] for row in rows], self._place.device))
                for rows in batches_of(tokens.lengths, self._place.tokens)
            )
            return self._outputs(tokens, batches)

    def _outputs(self, tokens: Tokens, batches: Iterable[tuple[Ints, Any]]) -> Encoded:
        """Outputs of all texts from batches of some, each as their rows and what the model is given."""
        raise NotImplementedError


class M3Embedder(_Encoder):
    """bge-m3: a vector, a weight a token, and, as `bge-m3-multi`, a vector a token.

    Outputs are as FlagEmbedding's own `encode` gives them, in its batches or in others, to rounding.
    """

    def __init__(self, library: Any, card: EmbedderCard, place: Place, max_length: int) -> None:
        super().__init__(library, card, place, max_length)
        named = self._tokenizer.special_tokens_map
        self._unused = self._tokenizer.convert_tokens_to_ids([named[name] for name in _SPECIAL if name in named])

    def _outputs(self, tokens: Tokens, batches: Iterable[tuple[Ints, Any]]) -> Encoded:
        texts = len(tokens.inputs)
        dense = np.zeros((texts, self.card.dimension), np.float32)
        sparse: list[Sequence[npt.NDArray[Any]]] = [()] * texts
        multi: list[Sequence[npt.NDArray[Any]]] = [()] * texts
        for rows, batch in batches:
            made = self._model(batch, return_dense=True, return_sparse=True, return_colbert_vecs=bool(self.card.multi))
            dense[rows] = _numpy(made["dense_vecs"])
            weights = _numpy(made["sparse_vecs"]).reshape(len(rows), -1)
            for row, weight in zip(rows, weights, strict=True):
                sparse[row] = self._strongest(tokens.inputs[row]["input_ids"], weight)
            if self.card.multi:
                # One for each token but the first, which stands for the whole text.
                for row, vector in zip(rows, _numpy(made["colbert_vecs"]), strict=True):
                    multi[row] = (vector[: len(tokens.inputs[row]["input_ids"]) - 1].copy(),)
        return Encoded(
            dense,
            ragged(sparse, (np.empty(0, np.int32), np.empty(0, np.float32))),
            ragged(multi, (np.empty((0, self.card.multi), np.float32),)) if self.card.multi else None,
            tokens.cut,
        )

    def _strongest(self, ids: list[int], weights: Float32s) -> tuple[npt.NDArray[np.int32], Float32s]:
        """Each token of a text once, ascending, with its largest weight; special tokens and weights of 0 are left out."""
        token, weight = np.array(ids, np.int32), weights[: len(ids)]
        kept = (weight > 0) & ~np.isin(token, self._unused)
        token, weight = token[kept], weight[kept]
        order = np.lexsort((-weight, token))
        found, first = np.unique(token[order], return_index=True)
        return found, weight[order][first]


class FlagEmbedder(_Encoder):
    """A dense encoder that FlagEmbedding knows, or that says how it pools."""

    def _outputs(self, tokens: Tokens, batches: Iterable[tuple[Ints, Any]]) -> Encoded:
        import torch

        dense = np.zeros((len(tokens.inputs), self.card.dimension), np.float32)
        for rows, batch in batches:
            hidden = self._model(**batch, return_dict=True).last_hidden_state
            vectors = self._library.pooling(hidden, batch["attention_mask"])
            dense[rows] = _numpy(torch.nn.functional.normalize(vectors, dim=-1))
        return Encoded(dense, cut=tokens.cut)


def load_m3(spec: Spec) -> M3Embedder:
    """Load bge-m3, with its heads; opens no connection.

    Raises:
        NotFoundError: FlagEmbedding or the weights are not here.
        UsageError: an option that the model or the machine cannot follow.
    """
    found = find_checkpoint(spec, hub_id=M3_HUB_ID, needs=(*PLAIN, *_HEADS))
    place = place_of(spec)
    with extra_imports(spec.kind):
        from FlagEmbedding import BGEM3FlagModel
    quiet_libraries()
    library = BGEM3FlagModel(str(found.folder), **_how(place))
    config = library.model.config
    library.model.to(place.device).eval()
    if config.model_type != "xlm-roberta":
        raise UsageError(
            f"{spec.text!r}: model_type={config.model_type!r}: bge-m3 is an xlm-roberta",
            hint="flag@CHECKPOINT takes other models of FlagEmbedding",
        )
    multi = library.model.colbert_linear.out_features if spec.kind == "bge-m3-multi" else 0
    card = _card(spec, found, config.hidden_size, sparse=True, multi=multi)
    return M3Embedder(library, card, place, max_length_of(library.tokenizer, config, spec))


def load_flag(spec: Spec) -> FlagEmbedder:
    """Load another dense encoder of FlagEmbedding; opens no connection.

    Raises:
        NotFoundError: FlagEmbedding or the weights are not here.
        UsageError: no checkpoint is named, nothing says how it pools, or it is no encoder.
    """
    found = find_checkpoint(spec)
    place = place_of(spec)
    with extra_imports(spec.kind):
        from FlagEmbedding import FlagModel
        from FlagEmbedding.inference.embedder.model_mapping import AUTO_EMBEDDER_MAPPING
    entry = AUTO_EMBEDDER_MAPPING.get(found.model.rpartition("/")[2])
    if entry is not None and entry.model_class is not FlagModel:
        raise UsageError(
            f"{spec.text!r} is a {entry.model_class.__name__}: dense encoders are allowed",
            hint="bge-m3 has its own name; serve a decoder and use openai:MODEL",
        )
    pooling = spec.options.pooling or (entry.pooling_method.value if entry else _pooling_said(found.folder))
    if pooling is None:
        raise UsageError(
            f"{spec.text!r}: neither FlagEmbedding nor the checkpoint says how it pools",
            hint=f"{spec.text},pooling=cls",
        )
    quiet_libraries()
    library = FlagModel(str(found.folder), pooling_method=pooling, **_how(place))
    library.model.to(place.device).eval()
    card = _card(spec, found, library.model.config.hidden_size, pooled=f",{pooling}")
    return FlagEmbedder(library, card, place, max_length_of(library.tokenizer, library.model.config, spec))


def _how(place: Place) -> dict[str, Any]:
    return {"use_fp16": place.dtype == "fp16", "use_bf16": place.dtype == "bf16", "devices": place.device}


def _card(
    spec: Spec, found: Checkpoint, dimension: int, *, sparse: bool = False, multi: int = 0, pooled: str = ""
) -> EmbedderCard:
    return EmbedderCard(
        embedder=embedder_name(spec.text),
        model=found.model,
        revision=f"{_REVISION}-{found.revision}{pooled}{spec.options.decisive}",
        dimension=dimension,
        normalised=True,
        sparse=sparse,
        multi=multi,
    )


def _pooling_said(folder: Path) -> str | None:
    """How a checkpoint in the layout of sentence-transformers pools; None where it says nothing that we know."""
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return None
    said = json.loads(path.read_text(encoding="utf-8"))
    ways = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    chosen = [ways.get(name) for name, value in said.items() if name.startswith("pooling_mode_") and value is True]
    if "pooling_mode" in said:
        chosen = [said["pooling_mode"]]
    return chosen[0] if len(chosen) == 1 and chosen[0] in ways.values() else None


def _numpy(tensor: Any) -> Float32s:
    vectors: Float32s = tensor.float().cpu().numpy()
    return vectors
