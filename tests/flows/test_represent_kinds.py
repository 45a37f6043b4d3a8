"""The kinds that ask a model, through the whole pipeline: audited, embedded by their keys, and not asked twice."""

import json

from extraction_runs import represent_settings, rows
from lake_contents import assert_sound
from openai_server import OpenAIServer
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run.settings import IngestSettings

NAMES = ("propositions", "summaries", "rolling_summary", "keyphrases", "facts-k:key=keys,value=exchange")


def test_kinds_that_ask_land_sound_are_embedded_by_key_text_and_asked_once(tmp_path):
    lake = tmp_path / "lake"
    source = write_conversations(tmp_path / "talks.jsonl", [conversation(f"c{n}", 10) for n in range(3)])
    ingest(IngestSettings(str(lake), "c", (str(source),)))
    with OpenAIServer() as server:
        made = represent(represent_settings(lake, "c", NAMES, server, embedder="static"))
        calls = server.stats().calls
        assert made["dead_letters"] == {}
        assert represent(represent_settings(lake, "c", NAMES, server, embedder="static"))["snapshot_id"] is None
        # Another value and another form of the keys are other units of the same replies.
        represent(represent_settings(lake, "c", ["facts-s:value=session"], server, embedder="static"))
        assert server.stats().calls == calls
    assert_sound(lake)
    counts = dict(rows(lake, "select representation, count(*) from units group by representation"))
    assert (counts["summaries"], counts["rolling_summary"], counts["keyphrases"]) == (6, 3, 30)
    assert counts["propositions"] == 30
    assert counts["facts-s"] == 6
    for name in ("keyphrases", "facts-k"):
        pairs = rows(
            lake,
            "select units.key_text, vectors.key_text, units.show_text, units.attributes"
            f" from units join \"{name}__static\" as vectors using (unit_id) where units.representation = '{name}'",
        )
        assert len(pairs) == counts[name]
        for key, embedded, shown, attributes in pairs:
            assert key == embedded != shown
            assert all(phrase in key for phrase in json.loads(attributes)["keys"])
