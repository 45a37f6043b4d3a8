"""rule_summary: what it keeps is the source's own, and what it drops is dropped by rule."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.errors import UsageError
from memlake.transforms.represent.by_rule.rule_summary import clause_end
from memlake.transforms.represent.catalogue import represent, spec_of


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The shop is open every day, except on Mondays.", "The shop is open every day"),
        ("I work from the library until the baby sleeps", "I work from the library"),
        ("Yes, I moved to Oslo: it rains", "Yes, I moved to Oslo"),
        ("Hello there!", "Hello there!"),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", "one two three four five six seven eight nine ten eleven twelve"),
        ("我每天都去健身房，除了星期一。", "我每天都去健身房"),
        ("except", "except"),
        ("👍👍", "👍👍"),
    ],
)  # fmt: skip
def test_the_kept_clause_of_known_texts(text: str, kept: str) -> None:
    assert text[: clause_end(text, least_words=4, most_words=12)] == kept


@given(st.text(), st.integers(1, 5), st.integers(0, 5))
def test_a_kept_clause_is_a_beginning_that_is_blank_only_when_the_text_is(text: str, least: int, more: int) -> None:
    end = clause_end(text, least_words=least, most_words=least + more)
    assert 0 <= end <= len(text)
    assert bool(end) == bool(text.strip())


@given(data=st.data())
def test_a_summary_is_its_pieces_line_by_line(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    canonical: Callable[[pa.Table], dict[str, str]],
) -> None:
    talk = data.draw(odd_talks)
    turns = turns_of(talk)
    texts = canonical(turns)
    made = represent(spec_of("rule_summary"), turns)
    assert made.units.num_rows == sum(map(len, talk.values()))
    assert made.provenance.num_rows == turns.num_rows
    assert set(made.provenance["grounding"].to_pylist()) <= {"exact"}
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for piece in made.provenance.to_pylist():
        lines[piece["unit_id"]].append(texts[piece["conversation_id"]][piece["char_start"] : piece["char_end"]])
    for unit in made.units.to_pylist():
        assert unit["show_text"][unit["header_chars"] :] == "\n".join(lines[unit["unit_id"]])
        assert (unit["span_start"], unit["span_end"]) == (None, None)


@pytest.mark.parametrize("settings", [{"least_words": 0}, {"most_words": 3}, {"least_words": 13}])
def test_word_counts_that_keep_nothing_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="1 <= least_words <= most_words"):
        spec_of("rule_summary-x", settings)
