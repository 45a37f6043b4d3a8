"""Quotes are found where they stand, to the character, and never where they do not."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.by_model.folding import cuts_word, fold
from memlake.transforms.represent.by_model.grounding import SHORT_CHARS, Source, ground
from memlake.transforms.represent.by_model.pieces import pieces_of

TurnsOf = Callable[..., pa.Table]
TALK = [
    ("Ann", "I moved to Paris  in 2019, it’s lovely."),
    ("Bo: x", "Yes, I know."),
    ("Ann", "e\u0301te\u0301 ﬁne Ｘ straße ｶﾞ — 한국어"),
    ("李", "我每天都去健身房，除了星期一。I moved to Paris  in 2019, it’s lovely."),
    ("Somebody with a long name", "Hm"),
]


def source_of(turns_of: TurnsOf, turns: Any) -> Source:
    (piece,) = pieces_of(turns_of({"v": [("8 May", turns)]}), granularity="session")
    return Source(piece)


@pytest.mark.parametrize(
    ("quote", "cited", "grounding", "turn", "source"),
    [
        ("I moved to Paris  in 2019", [1], "exact", 0, "I moved to Paris  in 2019"),
        ("I moved to Paris  in 2019", [4], "exact", 3, "I moved to Paris  in 2019"),
        ("I moved to Paris  in 2019", [], "exact", 0, "I moved to Paris  in 2019"),
        ("I moved to Paris  in 2019", [3, 2], "exact", 0, "I moved to Paris  in 2019"),
        ("  I moved to Paris  ", [1], "exact", 0, "I moved to Paris"),
        ("i MOVED to paris in 2019, it's lovely", [1], "normalised", 0, "I moved to Paris  in 2019, it’s lovely"),
        ("“I moved to Paris in 2019...”", [1], "normalised", 0, "I moved to Paris  in 2019"),
        ("\u200bI moved\u202e to Paris", [1], "normalised", 0, "I moved to Paris"),
        ("été fine x strasse", [3], "normalised", 2, "e\u0301te\u0301 ﬁne Ｘ straße"),
        ("STRASSE ガ - 한국어", [3], "normalised", 2, "straße ｶﾞ — 한국어"),
        ("健身房", [4], "exact", 3, "健身房"),
        ("我每天都去健身房,除了星期一", [4], "normalised", 3, "我每天都去健身房，除了星期一"),
        ("I mooved to Paris in 2019, its lovely", [1], "fuzzy", 0, "I moved to Paris  in 2019, it’s lovely"),
        ("Yes", [2], "exact", 1, "Yes"),
        ("yes", [2], "normalised", 1, "Yes"),
        ("Yes, I know.", [2], "exact", 1, "Yes, I know."),
    ],
)
def test_quotes_of_a_known_talk(
    turns_of: TurnsOf, quote: str, cited: list[int], grounding: str, turn: int, source: str
) -> None:
    found = ground(quote, source_of(turns_of, TALK), cited)
    assert (found.grounding, found.source) == (grounding, source)
    assert [span.turn.ordinal for span in found.spans] == [turn]


@pytest.mark.parametrize(
    ("quote", "cited"),
    [
        ("", [1]),
        ("   ", [1]),
        ("...", [1]),
        ("—", [3]),
        ("Yes", [1]),  # too little to be looked for in turns that were not cited
        ("Ye", [2]),  # a part of a word
        ("es", [3]),
        ("I moved to Paris in 2018, it's lovely", [1]),  # one digit is another fact
        ("I moved to Paris in 20199, it's lovely", [1]),
        ("Yes, I know. And I went to Rome with my mother", [2]),  # holds the turn, and more
        ("Jemand hat gesagt, dass drei Dinge geschehen sind", [1]),
        ("I promise to send my password to that address", [1]),
        ("moved", []),
        ("Bo: x: ", [2]),  # who speaks is not what they say
        ("\nBo: x: ", []),
        ("somebody with a long name:", [5]),
    ],
)
def test_what_nobody_said_is_not_found(turns_of: TurnsOf, quote: str, cited: list[int]) -> None:
    found = ground(quote, source_of(turns_of, TALK), cited)
    assert (found.grounding, found.source, found.occurrences) == ("none", "", 0)
    assert [span.turn.ordinal for span in found.spans] == ([number - 1 for number in cited] or [0, 1, 2, 3, 4])
    assert {(span.start, span.end) for span in found.spans} == {(None, None)}


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I am unable to eat any of these nuts.", "able to eat any of these nuts"),
        ("That is illegal in the whole of Ohio.", "legal in the whole of Ohio"),
        ("It costs 120 dollars a month, or so.", "20 dollars a month, or so"),
        ("It costs 12,000 dollars a month, or so.", "000 dollars a month, or so"),
        ("It costs 1.50 dollars a month, or so.", "50 dollars a month, or so"),
        ("It was -5 degrees, cold as in my childhood", "5 degrees, cold as in my childhood"),
        ("We paid for all of it some 15 dollars", "We paid for all of it some 1"),
        ("It took 10⁵ years to get to the end of it", "It took 105 years to get to the end of it"),
        ("Add 1½ cups of the finest sugar to it", "Add 11/2 cups of the finest sugar to it"),
        ("他有十五个朋友，都住在那个城市里面。", "五个朋友，都住在那个城市里面。"),
        ("他有十五个朋友，都住在那个城市里面很久了。", "他有五个朋友，都住在那个城市里面很久了。"),
        ("I paid two thousand dollars for the car", "I paid ten thousand dollars for the car"),
        ("I do not like fish at all, you know well", "I do like fish at all, you know well"),
        ("I do like fish a lot, as you know well", "I do not like fish a lot, as you know well"),
        ("I can't come to the party on Sunday", "I can come to the party on Sunday"),
        ("I would never sell my house, believe me", "I would sell my house, believe me"),
        ("I was unhappy with it all in the end", "I was happy with it all in the end"),
        ("我不喜欢吃鱼，因为小时候吃过太多次了真的", "我喜欢吃鱼，因为小时候吃过太多次了真的"),
        ("Ich gehe nicht zu der Feier am Sonntag", "Ich gehe zu der Feier am Sonntag"),
        ("Я не поеду к морю следующим летом вовсе", "Я поеду к морю следующим летом вовсе"),
        ("ﷺ said so in the year", "وسلم said so in the year"),
    ],
)
def test_part_of_a_word_or_number_and_another_sense_are_not_what_was_said(
    turns_of: TurnsOf, said: str, quote: str
) -> None:
    assert ground(quote, source_of(turns_of, [("A", said), ("B", "Well.")]), [1]).grounding == "none"


@pytest.mark.parametrize(
    ("said", "quote", "shown"),
    [
        ("Then she moved to Paris for good.", "he moved to Paris for good.", "she moved to Paris for good."),
        ("I loved the evening in Lima so much", "I loved the evening in Lim", "I loved the evening in Lima"),
        ("Well, I mooved to Lima that spring", "I moved to Lima that spring", "I mooved to Lima that spring"),
        ("Our oﬃce is closed on Mondays", "ice is closed on Mondays", "oﬃce is closed on Mondays"),
        ("the cafe\u0301 of the town is shut", "the cafe of the town is shut", "the cafe\u0301 of the town is shut"),
    ],
)
def test_what_is_found_nearly_is_whole_words(turns_of: TurnsOf, said: str, quote: str, shown: str) -> None:
    found = ground(quote, source_of(turns_of, [("A", said)]), [1])
    assert (found.grounding, found.source) == ("fuzzy", shown)
    assert found.score < 100


@pytest.mark.parametrize(
    ("said", "quote", "grounding"),
    [
        ("Yes, I saw it", "I saw it", "exact"),  # eight signs are enough without a cited turn, seven are not
        ("Yes, we saw", "we  saw", "none"),
        ("Yes, I SAW it", "i saw it", "normalised"),
        ("Yes, I SAW us", "i saw u", "none"),
        ("哦，健身房里。", "健身房里", "exact"),  # an ideograph says as much as two
        ("哦，健身房。", "健身房", "none"),
        ("Yes, walked all day", "wolked all day", "none"),  # below sixteen signs nothing is like another
        ("Yes, walked all days", "wolked all days", "none"),
        ("Yes, we walk all days", "we wolk all days", "fuzzy"),
        ("Yes, we walked all the day", "we wolked oll the day", "fuzzy"),  # 38 of 42 signs in common
        ("Yes, we walk in all of it", "we wolk in oll of it", "fuzzy"),  # 36 of 40
        ("Yes, we walk in all of the rain, then", "we wolk in oll of the roin, then", "fuzzy"),
        ("Yes, we walk in all of the rain", "we wolk in oll of the roin", "none"),  # 46 of 52
    ],
)
def test_what_is_short_and_what_is_like_enough_ends_where_it_is_said_to(
    turns_of: TurnsOf, said: str, quote: str, grounding: str
) -> None:
    assert ground(quote, source_of(turns_of, [("A", said), ("B", "Well.")]), [2]).grounding == grounding


def test_of_several_places_the_first_cited_is_taken_and_of_several_alike_the_most_like(turns_of: TurnsOf) -> None:
    twice = source_of(turns_of, [("A", "so we said hello"), ("B", "that we said hello")])
    assert [ground("we said hello", twice, cited).spans[0].turn.ordinal for cited in ([1, 2], [2, 1], [])] == [0, 1, 0]
    near, nearer = ("A", "we walkt in all of that rain"), ("B", "we walked in all of that rain")
    for turns, ordinal in (([near, nearer], 1), ([nearer, near], 0)):
        found = ground("we wolked in all of that rain", source_of(turns_of, turns))
        assert (found.grounding, found.spans[0].turn.ordinal) == ("fuzzy", ordinal)


@pytest.mark.parametrize(
    ("said", "quote", "grounding", "source"),
    [
        ("I like the cafe\u0301 of old", "i like the CAFÉ", "normalised", "I like the cafe\u0301"),
        ("I like the cafe\u0301", "i like the CAFÉ", "normalised", "I like the cafe\u0301"),
        ("We drove some ㎞ on it", "we drove some KM", "normalised", "We drove some ㎞"),
        ("We drove some ㎞ on it", "we drove some k", "none", ""),  # half a sign
        ("㎞ by ㎞ we drove on", "m by km we drove", "fuzzy", "㎞ by ㎞ we drove"),
        ("ohaha haha haha", "haha haha", "exact", "haha haha"),  # the first stands amid a word, and over the second
        ("OHaha haha HAHA", "haha Haha", "normalised", "haha HAHA"),
    ],
)
def test_a_place_begins_and_ends_with_whole_signs(
    turns_of: TurnsOf, canonical: Any, said: str, quote: str, grounding: str, source: str
) -> None:
    turns = turns_of({"v": [("8 May", [("A", said)])]})
    found = ground(quote, Source(pieces_of(turns, granularity="session")[0]), [1])
    assert (found.grounding, found.source) == (grounding, source)
    if source:
        assert canonical(turns)["v"][found.spans[0].start : found.spans[0].end] == source


def test_a_speaker_s_name_makes_a_short_quote_no_longer(turns_of: TurnsOf) -> None:
    source = source_of(turns_of, [("Ann", "Hello"), ("Somebody", "I know"), ("Ann", "Well")])
    assert ground("Somebody: I", source, [1]).grounding == "none"
    assert ground("Somebody: I", source, [2]).grounding == "exact"


def test_turns_that_there_are_not_are_passed_over(turns_of: TurnsOf) -> None:
    found = ground("nobody said that at all", source_of(turns_of, TALK), [99, 0, -1, 2, 2, 10**30])
    assert [span.turn.ordinal for span in found.spans] == [1]
    assert ground("Yes, I know.", source_of(turns_of, TALK), [99, -1]).grounding == "exact"


def test_a_quote_that_occurs_twice_is_the_cited_turns_and_counted(turns_of: TurnsOf) -> None:
    source = source_of(turns_of, [("A", "so we said hello"), ("B", "we said hello, we said hello")])
    found = ground("we said hello", source, [2])
    assert (found.occurrences, [(span.turn.ordinal, span.start - span.turn.start) for span in found.spans]) == (
        3,
        [(1, 0)],
    )


@pytest.mark.parametrize(
    ("quote", "grounding", "parts"),
    [
        ("it’s lovely.\nBo: x: Yes, I know.", "exact", ["it’s lovely.", "Bo: x: Yes, I know."]),
        ("it’s lovely.\nYes, I", "exact", ["it’s lovely.", "Yes, I"]),
        ("it's lovely. yes, I", "normalised", ["it’s lovely.", "Yes, I"]),
    ],
)
def test_a_quote_may_cross_turns(
    turns_of: TurnsOf, canonical: Any, quote: str, grounding: str, parts: list[str]
) -> None:
    turns = turns_of({"v": [("8 May", TALK)]})
    (piece,) = pieces_of(turns, granularity="session")
    found = ground(quote, Source(piece), [2])
    assert found.grounding == grounding
    assert [span.turn.ordinal for span in found.spans] == [0, 1]
    assert [canonical(turns)["v"][span.start : span.end] for span in found.spans] == parts
    assert all(span.touches_text for span in found.spans)


@given(data=st.data())
def test_every_stretch_of_whole_words_of_a_turn_is_found_in_it_to_the_character(
    data: st.DataObject, odd_talks: Any, turns_of: TurnsOf, canonical: Any
) -> None:
    turns = turns_of(data.draw(odd_talks))
    for piece in pieces_of(turns, granularity="session"):
        source = Source(piece)
        for number, turn in enumerate(piece.turns, 1):
            borders = [at for at in range(len(turn.text) + 1) if not cuts_word(turn.text, at)]
            start, end = sorted(data.draw(st.sampled_from(borders)) for _ in range(2))
            quote = turn.text[start:end].strip()
            if len(fold(quote).text) < SHORT_CHARS:
                continue
            found = ground(quote, source, [number])
            (span,) = found.spans
            assert (found.grounding, span.turn, found.source) == ("exact", turn, quote)
            assert canonical(turns)[piece.conversation_id][span.start : span.end] == quote
            assert turn.start <= span.start < span.end <= turn.end


@given(data=st.data(), quote=st.text(max_size=40))
def test_whatever_is_quoted_what_is_found_stands_there(
    data: st.DataObject, quote: str, odd_talks: Any, turns_of: TurnsOf, canonical: Any
) -> None:
    turns = turns_of(data.draw(odd_talks))
    for piece in pieces_of(turns, granularity="session"):
        found = ground(quote, Source(piece), data.draw(st.lists(st.integers(-2, 5), max_size=3)))
        assert found.spans
        if found.grounding == "none":
            continue
        there = [canonical(turns)[piece.conversation_id][span.start : span.end] for span in found.spans]
        if len(there) == 1:
            assert there == [found.source]
        if found.grounding == "exact":
            assert found.source == quote.strip()
        if found.grounding == "normalised":
            assert fold(quote).text.strip("\"'. ") in fold(found.source).text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_folding_keeps_the_place_of_every_character(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.start) == len(folded.end)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.start, folded.end, strict=True))
    assert list(folded.start) == sorted(folded.start)
    assert "  " not in folded.text
    assert folded.text == folded.text.strip(" ")
    assert fold(folded.text).text == folded.text


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])) | st.text(alphabet="가각한e\u0301ΐῷŉﾊﾟߍ'ʼn ", max_size=9)
)
def test_what_differs_in_its_composition_alone_is_folded_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)).text == fold(unicodedata.normalize("NFC", text)).text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("ﾊﾟﾘ", "パリ"),
        ("ΐ", "\u03b9\u0308\u0301"),
        ("STRASSE", "straße"),
        ("a\u200bb", "ab"),
        ("a \u200b b", "a b"),
        ("´´", "''"),
    ],
)
def test_what_looks_alike_or_differs_in_case_is_folded_alike(text: str, other: str) -> None:
    assert fold(text).text == fold(other).text


@given(st.text(alphabet="aA b\t\nB'`", max_size=12))
def test_plain_text_folds_to_its_words(text: str) -> None:
    assert fold(text).text == " ".join(text.casefold().replace("`", "'").split())


def test_a_long_turn_is_searched_fast(turns_of: TurnsOf) -> None:
    source = source_of(turns_of, [("Ann", "alpha beta gamma 42 " * 10_000)])
    assert ground("gamma 42 alpha bta gamma 42 alpha beta", source, [1]).grounding == "fuzzy"
    assert ground("the quick brown fox jumped over the lazy dog " * 20, source, [1]).grounding == "none"
