"""sentence: any checkpoint of sentence-transformers, with its own prompts for questions and passages."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from memlake.schemas.vectors import embedder_name
from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.checkpoint import extra_imports, find_checkpoint
from memlake.transforms.embed.embedder import EmbedderCard, Encoded, Encoder, Spec
from memlake.transforms.embed.run_torch import Place, batches_of, place_of, quiet_libraries

# Raised when this module's output changes for the same files.
_REVISION = 1


class SentenceEmbedder(Encoder):
    """A model of sentence-transformers; vectors have length 1 only where the checkpoint says so."""

    def __init__(self, model: Any, card: EmbedderCard, place: Place) -> None:
        self.card = card
        self._model, self._place = model, place
        # A tokeniser holds its settings in itself: two threads at once would spoil each other's.
        self._lock = Lock()

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:
        """Vectors, and which texts were cut; the model's prompt, where it has one, counts to a text's tokens."""
        call = self._model.encode_query if questions else self._model.encode_document
        dense = np.zeros((len(texts), self.card.dimension), np.float32)
        with self._lock:
            lengths = self._lengths(texts, _prompt(self._model, questions=questions))
            most = self._model.max_seq_length
            cut = {int(place): (most, int(lengths[place])) for place in np.flatnonzero(lengths > most)}
            for rows in batches_of(np.minimum(lengths, most), self._place.tokens):
                chosen = [texts[row] for row in rows]
                dense[rows] = call(chosen, batch_size=len(rows), show_progress_bar=False, convert_to_numpy=True)
        return Encoded(dense, cut=cut)

    def _lengths(self, texts: Sequence[str], prompt: str) -> Ints:
        if not texts:
            return np.empty(0, np.int64)
        whole = self._model.tokenizer([prompt + text for text in texts], truncation=False, padding=False, verbose=False)
        return np.array([len(ids) for ids in whole["input_ids"]], np.int64)


def load_sentence(spec: Spec) -> SentenceEmbedder:
    """Load a checkpoint in the layout of sentence-transformers; opens no connection.

    Raises:
        NotFoundError: sentence-transformers or the checkpoint is not here.
        UsageError: no checkpoint is named, or it does not take texts as tokens.
    """
    found = find_checkpoint(spec, needs=("modules.json",))
    place = place_of(spec)
    with extra_imports(spec.kind):
        import torch
        from sentence_transformers import SentenceTransformer
    quiet_libraries()
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[place.dtype]
    model = SentenceTransformer(
        str(found.folder), device=place.device, local_files_only=True, model_kwargs={"dtype": dtype}
    )
    if not model.max_seq_length or not callable(getattr(model, "tokenizer", None)):
        raise UsageError(f"{spec.text!r} does not say its longest input in tokens", hint="name another checkpoint")
    if spec.options.max_length is not None:
        if spec.options.max_length > model.max_seq_length:
            raise UsageError(
                f"{spec.text!r}: max_length={spec.options.max_length}: the model takes up to {model.max_seq_length} tokens",
                hint="ask for less",
            )
        model.max_seq_length = spec.options.max_length
    if spec.options.pooling is not None:
        raise UsageError(f"{spec.text!r}: its own modules say how it pools", hint="leave pooling= out")
    dimension = model.get_embedding_dimension()
    if dimension is None:
        raise UsageError(f"{spec.text!r} does not say its dimension", hint="name another checkpoint")
    normalised = type(model[-1]).__name__ == "Normalize"
    card = EmbedderCard(
        embedder_name(spec.text),
        found.model,
        f"{_REVISION}-{found.revision}{spec.options.decisive}",
        dimension,
        normalised=normalised,
    )
    return SentenceEmbedder(model, card, place)


def _prompt(model: Any, *, questions: bool) -> str:
    """The prompt that the library puts before a text, '' for none."""
    names = ("query",) if questions else ("document", "passage", "corpus")
    found = next((model.prompts[name] for name in names if name in model.prompts), None)
    if found is None and model.default_prompt_name:
        found = model.prompts.get(model.default_prompt_name)
    return found or ""
