"""What a study would still have to make and to ask in a lake, and what that would cost."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.vectors import vectors_table
from memlake.transforms.embed.catalogue import served_models
from memlake.transforms.evaluate.price_answers import price_answers
from memlake.transforms.evaluate.stages import CorpusQuestions, asked_of
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import UNITS_PART, VECTORS_PART
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import prices_of
from memlake.transforms.llm.model_calls import MOST_TEXTS
from memlake.transforms.llm.records.cache import ReplyCache, embedding_hash
from memlake.transforms.llm.records.prices import price_of
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.represent.catalogue import asks_model, kind_named, spec_of
from memlake.transforms.represent.price import price_representation
from memlake.transforms.study.study import Study, StudyCorpus
from memlake.transforms.text.token_counts import find_counter

_TEXTS = 4096


def study_price(lake: Lake, base: Snapshot, study: Study, models: ModelSettings) -> dict[str, Any]:
    """What `memlake study run` would lack and ask.

    Raises:
        NotFoundError: no such corpus, or it has no such questions.
        UsageError: a representation that is to be made, a reader or a judge asks a model, and none is named.
    """
    asked = asked_of(lake, base, study)
    rows = [
        _representation(lake, base, study, questions, name, models)
        for questions in asked
        for name in dict.fromkeys(
            name for cell in study.cells_of(questions.corpus.name) for name in cell.representations
        )
    ]
    embedding = _embedding(lake, base, study, asked, models)
    stored = all(row["state"] == "stored" for row in rows)
    answering = price_answers(lake, base, study, asked, models, stored=stored)
    prices = [row for row in (*rows, *answering, embedding or {}) if "price_low" in row]
    return {
        "study": study.name,
        "corpora": [corpus.name for corpus in study.corpora],
        "snapshot_id": base.snapshot_id,
        "cells": len(study.cells),
        "questions": sum(questions.questions.num_rows for questions in asked),
        "representations": rows,
        "embedding": embedding,
        "answering": answering,
        "calls": sum(int(str(row["calls"])) for row in prices),
        **{name: _total(prices, name) for name in ("price_low", "price_high")},
    }


def _representation(
    lake: Lake, base: Snapshot, study: Study, asked: CorpusQuestions, name: str, models: ModelSettings
) -> dict[str, object]:
    """Whether a representation is stored, and embedded, for the conversations asked about; what it costs where it is not."""
    corpus, conversations = asked.corpus, pc.unique(asked.labels["conversation_id"])
    lacking = _lacking(base, corpus, UNITS_PART.named(name), conversations)
    row: dict[str, object] = {
        "corpus": corpus.name,
        "representation": name,
        "state": "stored",
        "conversations": lacking,
    }
    if not lacking:
        needs = any(cell.plan.needs and name in cell.representations for cell in study.cells_of(corpus.name))
        unembedded = (
            _lacking(base, corpus, VECTORS_PART.named(vectors_table(name, study.embedder)), conversations)
            if needs
            else 0
        )
        if not unembedded:
            return row
        command = (
            f"memlake embed --embedder {shlex.quote(study.embedder)} --corpus {corpus.name} --representations {name}"
        )
        return row | {"state": "to be embedded", "conversations": unembedded, "next": command}
    if kind_named(name) is None:
        return row | {"state": "comes with its source", "next": f"memlake ingest SOURCE --corpus {corpus.name}"}
    asks = asks_model(name)
    flags = _flags(models) if asks else ""
    row |= {"state": "to be made", "next": f"memlake represent {name} --corpus {corpus.name}{flags}"}
    if not asks:
        return row
    spec = spec_of(name, model=models.model, provider=models.provider_name)
    return row | price_representation(lake, base, corpus.name, spec, models)


def _lacking(base: Snapshot, corpus: StudyCorpus, part: str, conversations: pa.Array) -> int:
    """How many of the conversations that are asked about lack a part."""
    return pc.sum(pc.invert(pc.is_in(conversations, value_set=_holding(base, corpus.name, part)))).as_py() or 0


def _holding(base: Snapshot, corpus: str, part: str) -> pa.Array:
    """The conversations that have a part."""
    where = (pc.field("corpus") == corpus) & (pc.field("part") == part)
    return base.read("parts", columns=["conversation_id"], where=where)["conversation_id"].combine_chunks()


def _flags(models: ModelSettings) -> str:
    """The model and its server as flags, those that are set."""
    chosen = {"model": models.model, "base-url": models.base_url, "provider": models.provider}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in chosen.items() if value)


def _embedding(
    lake: Lake, base: Snapshot, study: Study, asked: Sequence[CorpusQuestions], models: ModelSettings
) -> dict[str, object] | None:
    """What a served embedder would be asked: questions, and stored units that it has not embedded; None for a local one."""
    served = served_models(study.embedder) if study.needs_vectors else []
    if not served:
        return None
    (model,) = served
    cache, counter, prices = ReplyCache(lake.root), find_counter(), prices_of(models)
    seen: set[str] = set()
    texts = tokens = 0
    for block in (texts for questions in asked for texts in _texts(base, study, questions)):
        new = {embedding_hash(models.provider_name, model, text): text for text in block}
        new = {name: text for name, text in new.items() if name not in seen}
        seen |= new.keys()
        missing = [text for name, text in new.items() if not cache.path(name).exists()]
        texts += len(missing)
        tokens += int(counter.count(missing).sum())
    price = price_of(prices, model, tokens, 0)
    return {
        "embedder": study.embedder,
        "model": model,
        "calls": -(-texts // MOST_TEXTS),
        "texts": texts,
        "cached": len(seen) - texts,
        "tokens_in": tokens,
        "tokeniser": counter.name,
        "price_low": price,
        "price_high": price,
        "unpriced": [model] if price is None else [],
        "note": f"embedding calls are the fewest there can be, of {MOST_TEXTS} texts each; units that are still to be "
        "made come on top.",
    }


def _texts(base: Snapshot, study: Study, asked: CorpusQuestions) -> Iterator[list[str]]:
    """Questions, and the key_texts of stored units without a vector of the embedder, some thousand at a time."""
    corpus = asked.corpus.name
    yield asked.questions["text"].to_pylist()
    searched = [cell for cell in study.cells_of(corpus) if cell.plan.needs]
    for name in dict.fromkeys(name for cell in searched for name in cell.representations):
        embedded = _holding(base, corpus, VECTORS_PART.named(vectors_table(name, study.embedder)))
        of_units = (pc.field("corpus") == corpus) & (pc.field("representation") == name)
        units = base.read("units", columns=["conversation_id", "key_text"], where=of_units)
        left = units.filter(pc.invert(pc.is_in(units["conversation_id"], value_set=embedded)))
        for batch in left.to_batches(max_chunksize=_TEXTS):
            yield batch["key_text"].to_pylist()


def _total(rows: list[dict[str, object]], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if None in values else float(sum(value for value in values if isinstance(value, float | int)))
