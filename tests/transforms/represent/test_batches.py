"""Units of a batch: what is unfinished lands under a hash that the next run finds wanting, and nothing is passed over."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from scripted_model import ScriptedModel, every_turn, shown

from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.lake.storage.parts import BaseParts, derived_part_hash, unfinished_part_hash
from memlake.transforms.represent.batches import BuildSpec, ask_units, build_units, to_ask
from memlake.transforms.represent.catalogue import spec_of

TurnsOf = Callable[..., pa.Table]
TALK = {name: [(None, [("Ann", f"I live in {name}.")]), (None, [("Bo", "So do I.")])] for name in ("Lima", "Oslo")}


def built(turns: pa.Table, build: BuildSpec, script: Any) -> Batch:
    names = sorted(set(turns["conversation_id"].to_pylist()))
    rows = [dict(zip(PARTS_SEEN.names, (name, "turns", f"hash of {name}", 2, True), strict=True)) for name in names]
    batch = Batch("shard", tables={"turns": turns}, parts=pa.Table.from_pylist(rows, schema=PARTS_SEEN))
    asked = asyncio.run(ask_units(to_ask(batch, build), ScriptedModel(script)))
    return build_units(batch, build, asked)


@pytest.mark.parametrize("outcome", ["transient", "missing", "refused"])
def test_a_conversation_that_lacks_an_answer_that_may_come_is_not_taken_for_done(
    turns_of: TurnsOf, outcome: str
) -> None:
    spec = spec_of("artifacts", model="m")
    build = BuildSpec(BaseParts("", "", "c"), (spec,))

    def script(request: Any) -> str | tuple[str, str]:
        return (outcome, "") if "Lima" in request.messages[1].content else every_turn(request)

    batch = built(turns_of(TALK), build, script)
    parts = {row["conversation_id"]: row for row in batch.parts.to_pylist() if row["part"] == "units:artifacts"}
    done = {name: derived_part_hash(f"hash of {name}", spec.settings_hash) for name in TALK}
    held = {(name, "units:artifacts"): (row["content_hash"], row["rows"]) for name, row in parts.items()}
    assert build.lacks("artifacts", held, done) == (set() if outcome == "refused" else {"Lima"})
    assert {name: row["rows"] for name, row in parts.items()} == {"Lima": 1, "Oslo": 2}
    assert [letter.reason for letter in batch.dead] == [outcome]


def test_a_conversation_of_which_nothing_was_made_has_a_part_without_rows(turns_of: TurnsOf) -> None:
    spec = spec_of("artifacts", model="m")

    def script(request: Any) -> str:
        return json.dumps({"artifacts": []}) if "Lima" in str(shown(request)) else every_turn(request)

    batch = built(turns_of(TALK | {"Lima": TALK["Lima"][:1]}), BuildSpec(BaseParts("", "", "c"), (spec,)), script)
    parts = {row["conversation_id"]: row["rows"] for row in batch.parts.to_pylist() if row["part"] != "turns"}
    assert parts == {"Lima": 0, "Oslo": 2}
    assert batch.tables["extractions"].num_rows == 3


def test_the_hash_of_what_is_unfinished_follows_from_what_lacks_and_not_from_its_order() -> None:
    done = derived_part_hash("turns", "settings")
    hashes = [unfinished_part_hash(done, requests) for requests in (["a", "b"], ["b", "a"], ["a"], ["b"])]
    assert hashes[0] == hashes[1]
    assert len({done, *hashes}) == 4
    assert len({derived_part_hash(*both) for both in (("a", "b"), ("b", "a"), ("a", "a"), ("ab", ""))}) == 4
