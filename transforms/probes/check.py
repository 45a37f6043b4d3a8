"""What has to hold of planted questions before anybody is scored by them."""

from collections.abc import Iterator, Sequence

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.probes.conversation import FACT, ProbeQuestion, Probes
from memlake.transforms.probes.template import filled
from memlake.transforms.represent.by_rule.artifact_patterns import kinds_of
from memlake.transforms.text.content_tokens import content_tokens_of
from memlake.transforms.text.sentences import sentence_spans

_MOST_TOLD = 5


def check(conversations: Sequence[Probes]) -> None:
    """Refuse probes with a fault.

    Raises:
        MemlakeError: they have one; which ones stands in the message.
    """
    if found := list(faults(conversations)):
        shown = "; ".join(found[:_MOST_TOLD])
        raise MemlakeError(
            f"{len(found)} faults in {len(conversations)} conversations of probes: {shown}",
            hint="mend transforms/probes/templates, or choose another --seed",
        )


def faults(conversations: Sequence[Probes]) -> Iterator[str]:
    """Every fault, as 'CONVERSATION QUESTION: what'; none when all is well.

    Each id is there once. No question holds a content token of its answer. The gold turns together hold every token of
    what is needed for the answer, and of the answer unless that is derived. No other turn holds all of the answer's, so
    none states it. A near miss is gold nowhere; a question without an answer has no evidence.
    """
    yield from _twice("conversation", [conversation.conversation_id for conversation in conversations])
    turns = [turn.text for conversation in conversations for turn in conversation.turns]
    asked = [question for conversation in conversations for question in conversation.questions]
    told = iter(_tokens(turns))
    texts = iter(_tokens([question.text for question in asked]))
    answers = iter(_tokens([filled(question.fact.template.answer, question.fact.values) for question in asked]))
    needs = iter(_tokens([filled(question.fact.template.needs, question.fact.values) for question in asked]))
    for conversation in conversations:
        where = conversation.conversation_id
        yield from (f"{where}: {what}" for what in _twice("turn", [turn.turn_id for turn in conversation.turns]))
        yield from (f"{where}: {what}" for what in _twice("question", [q.question_id for q in conversation.questions]))
        tokens = {turn.turn_id: next(told) for turn in conversation.turns}
        planted = {turn.turn_id: turn.planted for turn in conversation.turns}
        for question in conversation.questions:
            found = [
                *_about_answer(question, next(texts), next(answers), next(needs), tokens),
                *(f"evidence {gold} is {planted[gold]}" for gold in question.evidence if planted[gold] != FACT),
            ]
            yield from (f"{where} {question.question_id} ({question.fact.template.name}): {what}" for what in found)


def _about_answer(
    question: ProbeQuestion, asked: set[str], answer: set[str], needs: set[str], tokens: dict[str, set[str]]
) -> Iterator[str]:
    if shared := asked & answer:
        yield f"the question holds {sorted(shared)} of its answer"
    gold = set(question.evidence)
    held = set().union(*(tokens[turn_id] for turn_id in question.evidence))
    if question.answer is None:
        if gold:
            yield f"evidence {sorted(gold)} without an answer"
    elif missing := (needs if question.fact.template.derived else needs | answer) - held:
        yield f"the gold turns lack {sorted(missing)}"
    if answer and (
        stated := [turn_id for turn_id, of_turn in tokens.items() if turn_id not in gold and answer <= of_turn]
    ):
        yield f"turns {stated} hold the answer {sorted(answer)} too"
    if near := gold & set(question.distractors.values()):
        yield f"near misses {sorted(near)} are gold"


def shape_faults(conversations: Sequence[Probes]) -> Iterator[str]:
    """Facts that are not of the shape that they are said to be, judged by the patterns of artifacts_rules.

    Of one that fits, the kept sentences of its gold turns hold all that is needed, the answer in a single one; of a
    loose one, all kept sentences of both its turns together lack part of it.
    """
    for conversation in conversations:
        texts = {turn.turn_id: turn.text for turn in conversation.turns}
        for question in conversation.questions:
            if question.answer is None:
                continue
            kept = _tokens([sentence for gold in question.evidence for sentence in kept_sentences(texts[gold])])
            needs, answer = _tokens([filled(question.fact.template.needs, question.fact.values), question.answer])
            holds = needs <= set().union(*kept)
            in_one = question.fact.template.derived or any(answer <= tokens for tokens in kept)
            if question.fits != (holds and in_one) or (
                not question.fits and in_one and not question.fact.template.derived
            ):
                shape = "fits" if question.fits else "is loose"
                yield f"{conversation.conversation_id} {question.fact.template.name}: {shape}, and holds={holds} in_one={in_one}"


def kept_sentences(text: str) -> list[str]:
    """The sentences of a turn that artifacts_rules makes units of."""
    return [text[start:end] for start, end in sentence_spans(text) if kinds_of(text[start:end])]


def _tokens(texts: Sequence[str]) -> list[set[str]]:
    return [set(tokens) for tokens in content_tokens_of(texts, distinct=True).to_pylist()]


def _twice(what: str, ids: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    return [f"{what} id {one!r} comes twice" for one in ids if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
