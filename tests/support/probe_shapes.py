"""Whether planted facts have the shape that they are said to have."""

from collections.abc import Iterator, Sequence

from memlake.transforms.probes.check import content_tokens_in
from memlake.transforms.probes.conversation import Probes
from memlake.transforms.probes.template import filled
from memlake.transforms.represent.by_rule.artifact_patterns import kinds_of
from memlake.transforms.text.sentences import sentence_spans


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
            kept = content_tokens_in(
                [sentence for gold in question.evidence for sentence in kept_sentences(texts[gold])]
            )
            needs, answer = content_tokens_in(
                [filled(question.fact.template.needs, question.fact.values), question.answer]
            )
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
