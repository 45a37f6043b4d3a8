"""What readers and judges of a study would be asked, counted from the very contexts that they would be shown."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.answer.answering import answer_contexts, answer_requests
from memlake.transforms.answer.judging import judge_requests
from memlake.transforms.embed.catalogue import opened, served_models
from memlake.transforms.evaluate.corpus import search_corpus
from memlake.transforms.evaluate.stages import CorpusQuestions
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import prices_of
from memlake.transforms.llm.estimate import Estimate, estimate
from memlake.transforms.llm.protocol.model import Reply, Request
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.study.study import Study, StudyCell
from memlake.transforms.text.token_counts import find_counter


class _Kept:
    """A model that knows what the cache holds and asks nobody."""

    def __init__(self, cache: ReplyCache, provider: str) -> None:
        self._cache, self._provider = cache, provider

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:  # noqa: ARG002 - the protocol's
        hashed = request.hash(self._provider)
        return self._cache.get(hashed) or Reply(hashed, "missing")


def price_answers(
    lake: Lake, base: Snapshot, study: Study, asked: Sequence[CorpusQuestions], models: ModelSettings, *, stored: bool
) -> list[dict[str, object]]:
    """A row for the answers and one for the verdicts of each corpus; none where no model is asked.

    Args:
        stored: whether every representation is stored for every conversation that is asked about.
    """
    if any(cell.plan.chat_models for cell in study.cells):
        return [{"what": "answers and verdicts", "state": "not known yet", "note": _PLANS_ASK}]
    cells = [cell for cell in study.cells if (reader := study.reader_of(cell)) and reader.asks_model]
    judges = [judge for judge in study.judges if judge.asks_model]
    if not cells and not (judges and any(cell.reader for cell in study.cells)):
        return []
    if not stored or (study.needs_vectors and served_models(study.embedder)):
        return [{"what": "answers and verdicts", "state": "not known yet", "note": _UNKNOWN}]
    return [row for of_corpus in asked for row in _corpus(lake, base, study, of_corpus, models)]


def _corpus(
    lake: Lake, base: Snapshot, study: Study, asked: CorpusQuestions, models: ModelSettings
) -> list[dict[str, object]]:
    counter, cache, prices = find_counter(), ReplyCache(lake.root), prices_of(models)
    provider = models.provider_name
    total = {what: Estimate.nothing(counter.name) for what in ("answers", "verdicts")}

    def add(what: str, requests: Sequence[Request]) -> None:
        total[what] += estimate(requests, counter, prices, cache, provider=provider)

    with opened(study.embedder, None) if study.needs_vectors else nullcontext() as embedder:
        for searched in search_corpus(base, study, asked.corpus, "plan", asked.questions, embedder):
            cell = study.cell(searched.cell)
            reader = study.reader_of(cell)
            if reader is None:
                continue
            contexts = _asked_at(study, cell, searched.found.contexts)
            if reader.asks_model:
                add("answers", answer_requests(reader, contexts, asked.questions))
            kept = _Kept(cache, provider)
            made = asyncio.run(answer_contexts(reader, contexts, asked.questions, kept, language=asked.corpus.language))
            for judge in study.judges_of(asked.corpus.name):
                if judge.asks_model:
                    add("verdicts", judge_requests(judge, _with_stand_ins(made, asked.labels), asked.labels))
    return [
        {"what": what, "corpus": asked.corpus.name} | made.document() | {"note": _NOTE}
        for what, made in total.items()
        if made.calls or made.cached
    ]


def _asked_at(study: Study, cell: StudyCell, contexts: pa.Table) -> pa.Table:
    """The contexts of a cell that its reader is asked about."""
    chosen = [f"{kind} {cutoff}" for kind, cutoff in study.answered(cell).pairs]
    at = pc.binary_join_element_wise(contexts["cutoff_kind"], pc.cast(contexts["cutoff"], pa.string()), " ")
    return contexts.filter(pc.is_in(at, value_set=pa.array(chosen, pa.string())))


def _with_stand_ins(answers: pa.Table, labels: pa.Table) -> pa.Table:
    """Answers with a text of about the length that an answer will have where there is none yet: the gold answer's."""
    gold = dict(zip(*(labels[name].to_pylist() for name in ("question_id", "answer")), strict=True))
    texts = [
        f"{gold.get(question) or ''} ({cell}, {repeat})" if reason == "missing" else text
        for question, cell, repeat, reason, text in zip(
            *(answers[name].to_pylist() for name in ("question_id", "cell", "repeat", "reason", "text")), strict=True
        )
    ]
    # A question with options is judged by what is chosen: any one is about as long as another.
    missing = pc.fill_null(pc.equal(answers["reason"], "missing"), False)
    option = pc.if_else(missing, pa.scalar(0, pa.int64()), answers["option"])
    for name, column in (("text", pa.array(texts, pa.string())), ("option", option)):
        answers = answers.set_column(answers.schema.get_field_index(name), answers.schema.field(name), column)
    return answers


_PLANS_ASK = "a step of a plan asks a model, so what a reader is shown is known when the study is run, and not before."
_UNKNOWN = (
    "what a reader is shown is known once every representation is stored and embedded; then `study plan` counts it."
)
_NOTE = (
    "tokens of verdicts on answers that are still to come are counted from the gold answers in their place; equal answers "
    "to a question are one verdict, so there may be fewer calls, never more."
)
