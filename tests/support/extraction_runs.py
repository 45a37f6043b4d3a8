"""Runs that ask a model, for tests: what they are told, and what must hold of a lake after them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from openai_server import OpenAIServer

from memlake.flows.run.settings import RepresentSettings
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy
from memlake.transforms.llm.settings import ModelSettings

ATTEMPTS = 6
# As the product's, in a hundredth of the time.
RETRY = RetryPolicy(attempts=ATTEMPTS, first_delay_s=0.005, most_delay_s=0.3, budget_s=60.0)


def represent_settings(
    lake: Path, corpus: str, names: Sequence[str], server: OpenAIServer, **more
) -> RepresentSettings:
    """A run that asks the server."""
    of_models = {name: more.pop(name) for name in ("model", "max_in_flight", "offline", "max_cost") if name in more}
    settings = {"model": "test-model", "max_in_flight": 64, **of_models}
    models = ModelSettings(base_url=server.url, retry=RETRY, **settings)
    return RepresentSettings(
        str(lake), corpus, tuple(names), models=models, **{"embedder": "none", "allow_dead_records": 1.0, **more}
    )


def rows(lake: Path, sql: str) -> list[tuple]:
    """Rows of a query on the newest snapshot."""
    with connect(open_lake(str(lake))) as connection:
        return connection.execute(sql).fetchall()


def table(lake: Path, name: str, representation: str) -> pa.Table:
    """Rows of one representation."""
    stored = open_lake(str(lake)).snapshot().read(name)
    return stored.filter(pc.equal(stored["representation"], representation))


def assert_every_turn_is_in_a_piece(lake: Path, representation: str) -> Counter:
    """Pieces follow each other without gap or overlap, in every conversation; returns outcomes and reasons."""
    turns = dict(rows(lake, "select conversation_id, count(*) from turns group by conversation_id"))
    pieces: dict[str, list[dict]] = {}
    for piece in table(lake, "extractions", representation).sort_by("piece").to_pylist():
        pieces.setdefault(piece["conversation_id"], []).append(piece)
    assert pieces.keys() == turns.keys()
    for conversation, of_it in pieces.items():
        assert [piece["piece"] for piece in of_it] == list(range(len(of_it))), conversation
        next_ordinal = 0
        for before, piece in zip([None, *of_it], of_it, strict=False):
            first, last = piece["first_ordinal"], piece["last_ordinal"]
            # The parts of one long turn that was cut share its ordinal.
            of_one_turn = before is not None and before["last_ordinal"] == first == last
            assert first == next_ordinal or of_one_turn, (conversation, piece)
            assert last >= first
            next_ordinal = last + 1
        assert next_ordinal == turns[conversation], conversation
    found = Counter()
    for of_it in pieces.values():
        for piece in of_it:
            assert piece["outcome"] in ("extracted", "empty", "failed")
            assert bool(piece["reason"]) == (piece["outcome"] == "failed"), piece
            assert (piece["outcome"] == "extracted") == (piece["units"] > 0), piece
            found[piece["outcome"], piece["reason"]] += 1
    return found


def assert_failures_have_letters(lake: Path, representation: str) -> None:
    """Each failed piece has a letter of the newest run that says where, why, and what the model wrote."""
    letters = rows(
        lake,
        "select reason, position, error, coalesce(payload, ''), source_uri from dead_letters"
        " where stage = 'extract' and run_id = (select run_id from runs where flow = 'represent' order by logged_at desc limit 1)",
    )
    by_place = {
        (uri.rsplit("/", 1)[1], position, reason): (error, payload) for reason, position, error, payload, uri in letters
    }
    for piece in table(lake, "extractions", representation).to_pylist():
        if piece["outcome"] != "failed":
            continue
        error, payload = by_place[piece["conversation_id"], piece["first_ordinal"], piece["reason"]]
        assert repr(piece["conversation_id"]) in error
        assert str(piece["first_ordinal"]) in error
        # Where a reply came, it is there; where none did, what the server said.
        assert payload or len(error) > 40, piece
