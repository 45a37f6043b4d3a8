"""Content tokens against a literal reading of their definition."""

import re
import string

import pyarrow as pa
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from memlake.schemas.table import STRINGS
from memlake.transforms.base.errors import UsageError
from memlake.transforms.text.content_tokens import content_tokens, content_tokens_of

STOP = (
    "i you he she it we they of to in on at for and or is are was were be been with her his their from by as that this"
)
TEXTS = st.lists(st.one_of(st.text(), st.text(alphabet="atheno _'’.-\n\u0301ÀİßΣ9日")), max_size=8)


def by_the_letter(text: str) -> list[str]:
    """The definition, one clause a line."""
    stemmer = Stemmer.Stemmer("english")
    text = re.sub(r"\b(?:a|an|the)\b", " ", text.lower())
    text = "".join(" " if mark in string.punctuation else mark for mark in text)
    stop = set(stemmer.stemWords(STOP.split()))
    return [token for token in stemmer.stemWords(text.split()) if token not in stop]


@given(TEXTS)
def test_tokens_follow_the_definition_by_the_letter(texts: list[str]) -> None:
    assert content_tokens_of(texts).to_pylist() == [by_the_letter(text) for text in texts]
    assert [content_tokens(text) for text in texts] == [by_the_letter(text) for text in texts]


@given(TEXTS)
def test_distinct_tokens_are_sorted_and_complete(texts: list[str]) -> None:
    expected = [sorted(set(by_the_letter(text))) for text in texts]
    assert content_tokens_of(texts, distinct=True).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cats were running!", ["cat", "run"]),
        ("cat cat dog", ["cat", "cat", "dog"]),
        ("2,000 at 7:30", ["2", "000", "7", "30"]),
        ("an A-team, (the) a.m.", ["team", "m"]),
        ("_the_ cat", ["the", "cat"]),
        ("the’s", ["’s"]),
        ("theatre another bathe", ["theatr", "anoth", "bath"]),
        ("他们是 日本、语", ["他们是", "日本、语"]),
        ("", []),
        (" \t\r\n\u00a0 ... ", []),
        ("of the and a", []),
    ],
)
def test_tokens_of_known_texts(text: str, tokens: list[str]) -> None:
    assert content_tokens(text) == tokens


def test_another_language_is_not_stemmed() -> None:
    assert content_tokens("Les chevaux étaient running", "other") == ["les", "chevaux", "étaient", "running"]


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match=r"language='klingon'.*'english'"):
        content_tokens("qapla", "klingon")  # type: ignore[arg-type]


@pytest.mark.parametrize("distinct", [False, True])
def test_columns_keep_their_nulls_and_their_type(distinct: bool) -> None:
    column = pa.chunked_array([["dog dog", None], [""]], pa.string())
    tokens = content_tokens_of(column, distinct=distinct)
    assert tokens.type == STRINGS
    assert tokens.to_pylist() == [["dog"] if distinct else ["dog", "dog"], None, []]
    assert content_tokens_of(pa.array([], pa.string()), distinct=distinct).to_pylist() == []
