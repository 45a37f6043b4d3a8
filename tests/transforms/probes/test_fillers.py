"""Filler talk: some of it lands in the artifact store, and none of it answers a question."""

import pytest
from probe_shapes import kept_sentences

from memlake.transforms.probes.conversation import FILLER, conversation_of
from memlake.transforms.probes.plan import plan_of
from memlake.transforms.probes.template import DOMAINS, fillers, pools
from memlake.transforms.text.content_tokens import content_tokens_of
from memlake.transforms.text.sentences import sentence_spans


@pytest.mark.parametrize("domain", range(len(DOMAINS)), ids=DOMAINS)
def test_the_patterns_keep_as_small_a_share_of_filler_as_of_real_chats(domain: int) -> None:
    plans = (plan_of(3, "test", 2 * place + domain, 200) for place in range(10))
    texts = [turn.text for plan in plans for turn in conversation_of(plan, 0.5).turns if turn.planted == FILLER]
    kept = sum(len(kept_sentences(text)) for text in texts) / sum(len(sentence_spans(text)) for text in texts)
    # 6.6 % of the sentences of LoCoMo, in which 18.6 % of the (longer) turns have one.
    assert 0.05 < kept < 0.11


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_line_holds_a_value(domain: str) -> None:
    words = fillers(domain)
    lines = [*words.openers, *words.replies, *words.acks, *words.leads]
    values = [value if isinstance(value, str) else value[-1] for pool in pools().values.values() for value in pool]
    held = [set(found) for found in content_tokens_of(lines, distinct=True).to_pylist()]
    for value, wanted in zip(values, content_tokens_of(values, distinct=True).to_pylist(), strict=True):
        assert [line for line, found in zip(lines, held, strict=True) if set(wanted) <= found] == [], value


def test_nothing_that_goes_with_a_planted_sentence_is_kept_itself() -> None:
    words = fillers("work")
    assert [line for line in (*words.acks, *words.leads) if kept_sentences(line)] == []
