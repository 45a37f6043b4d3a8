"""What a conversation says at all, as the words by which a loss is told."""

import pyarrow as pa
import pyarrow.dataset as pads
from small_tables import rows_of

from memlake.schemas import TURNS
from memlake.transforms.score.source_tokens import SOURCE_TOKENS, source_tokens, source_tokens_of


def turn(ordinal, text, *, conversation="v", speaker="Ann", label="8 May, 2023"):
    return {
        "conversation_id": conversation,
        "ordinal": ordinal,
        "text": text,
        "speaker": speaker,
        "session_label": label,
    }


def tokens_of(rows, language="english", *, batch=None):
    turns = rows_of(TURNS, rows)
    made = source_tokens(turns.to_batches(max_chunksize=batch) if batch else turns, language)
    assert made.schema == SOURCE_TOKENS
    found = {}
    for row in made.to_pylist():
        found.setdefault(row["conversation_id"], []).append(row["token"])
    return {name: sorted(tokens) for name, tokens in found.items()}


def test_texts_speakers_and_session_labels_are_the_source_each_token_once():
    rows = [
        turn(0, "Running runs"),
        turn(1, "the red car", speaker="Bob"),
        turn(2, "red", conversation="w", label=None),
    ]
    assert tokens_of(rows) == {
        "v": ["2023", "8", "ann", "bob", "car", "may", "red", "run"],
        "w": ["ann", "red"],
    }


def test_blocks_of_turns_give_the_same_tokens():
    rows = [turn(place, f"word{place % 5} thing", speaker=f"S{place % 3}") for place in range(20)]
    assert tokens_of(rows, batch=3) == tokens_of(rows)


def test_another_language_is_not_stemmed():
    assert "running" in tokens_of([turn(0, "Running")], "other")["v"]


def test_no_turns_have_no_tokens():
    assert source_tokens(pa.Table.from_batches([], TURNS.schema), "english").num_rows == 0


class OneTable:
    """A snapshot that holds turns and nothing else."""

    def __init__(self, turns):
        self.turns = pads.dataset(turns)

    def batches(self, table, *, columns, where):
        assert table == "turns"
        yield from self.turns.scanner(columns=columns, filter=where, batch_size=2).to_batches()


def test_only_the_conversations_that_are_asked_about_are_read():
    rows = [turn(0, "red"), turn(1, "blue"), turn(2, "pink"), turn(0, "boat", conversation="w")]
    elsewhere = {**turn(0, "green"), "corpus": "d"}
    snapshot = OneTable(rows_of(TURNS, [*rows, elsewhere]))
    for names in (pa.array(["v"]), pa.chunked_array([["v"], ["x"]])):
        made = source_tokens_of(snapshot, "c", names, "english")
        assert {(row["corpus"], row["conversation_id"]) for row in made.to_pylist()} == {("c", "v")}
        assert {"red", "blue", "pink"} < set(made["token"].to_pylist())
        assert not {"boat", "green"} & set(made["token"].to_pylist())
