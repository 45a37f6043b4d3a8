"""What the browser of a report reads from the tables, and the words of its texts that are in none of some tokens."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from memlake.schemas.table import BOOL, INT, STRING, STRINGS
from memlake.transforms.base.sql import sql_files
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Row
from memlake.transforms.study.study import Measure
from memlake.transforms.text.content_tokens import Language, content_tokens_of

ASKED = """
select distinct corpus, conversation_id, question_id from contexts where run_id = $run_id
order by corpus, conversation_id, question_id
"""
# Questions, turns and units are as the run read them, the rest as the run made it.
_AS_READ = ("browsed_questions", "browsed_gold", "browsed_turns", "browsed_touching", "browsed_units")
# The tables behind them.
TABLES_AS_READ = ("questions", "evidence", "turns", "provenance", "units")
BROWSED = pa.schema([(name, STRING) for name in ("corpus", "conversation_id", "question_id")])
BROWSED_CELLS = pa.schema(
    [
        ("cell", STRING),
        ("corpus", STRING),
        ("representations", STRINGS),
        ("cutoff_kind", STRING),
        ("cutoff", INT),
        ("whole", BOOL),
        ("judge", STRING),
    ]
)


def browser_rows(
    connection: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyConnection,
    run_id: str,
    cards: Sequence[CellCard],
    asked: pa.Table,
    at: Measure,
) -> dict[str, list[Row]]:
    """What each file of sql/browser says of some questions, by the file's name.

    Args:
        connection: the snapshot that holds the run's rows.
        source: the snapshot that the run read, whose texts were searched.
        asked: rows of BROWSED, which ASKED finds.
    """
    cells = [card.row(*BROWSED_CELLS.names) for card in cards]
    known = {"browsed": asked, "browsed_cells": pa.Table.from_pylist(cells, schema=BROWSED_CELLS)}
    values = {"run_id": run_id, "label_set": at.label_set, "metric": at.metric}
    rows: dict[str, list[Row]] = {}
    for file in sql_files("browser"):
        side = source if file.name in _AS_READ else connection
        for read in file.reads:
            if read in known:
                side.register(read, known[read])
        (statement,) = duckdb.extract_statements(file.text)
        params = {name: values[name] for name in statement.named_parameters}
        known[file.name] = side.sql(file.text, params=params).to_arrow_table()
        rows[file.name] = known[file.name].to_pylist()
    return rows


_PIECE = re.compile(r"\S+")
# What content tokens are split at within a piece: ASCII punctuation.
_PART = re.compile(r"[^!-/:-@\[-`{-~]+")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Word:
    """Code points [start, end) of a text, and the content tokens that they give."""

    start: int
    end: int
    tokens: tuple[str, ...]


def words_of(texts: Sequence[str], *, language: Language = "english") -> list[list[Word]]:
    """The content words of each text in order; their tokens, joined, are the text's content tokens.

    White space parts words for every metric, so a piece between white space has the same tokens alone as in its text. Within
    a piece, words are told apart at punctuation where that changes no token, else the piece stands as one word.
    """
    spans = [[match.span() for match in _PIECE.finditer(text)] for text in texts]
    pieces = dict.fromkeys(text[start:end] for text, found in zip(texts, spans, strict=True) for start, end in found)
    parts = dict.fromkeys(part for piece in pieces for part in _PART.findall(piece))
    known = _tokens([*pieces, *parts], language)
    inside = {piece: _inside(piece, known) for piece in pieces}
    return [
        [
            Word(start + word.start, start + word.end, word.tokens)
            for start, end in found
            for word in inside[text[start:end]]
        ]
        for text, found in zip(texts, spans, strict=True)
    ]


def ranges_without(words: Sequence[Word], kept: Collection[str]) -> list[Range]:
    """The ranges of the words of which a token is not among those kept."""
    return [(word.start, word.end) for word in words if any(token not in kept for token in word.tokens)]


def _tokens(texts: list[str], language: Language) -> dict[str, tuple[str, ...]]:
    return dict(zip(texts, map(tuple, content_tokens_of(texts, language=language).to_pylist()), strict=True))


def _inside(piece: str, known: dict[str, tuple[str, ...]]) -> list[Word]:
    words = [Word(*match.span(), known[match[0]]) for match in _PART.finditer(piece) if known[match[0]]]
    whole = known[piece]
    if tuple(token for word in words for token in word.tokens) == whole:
        return words
    return [Word(0, len(piece), whole)] if whole else []
