import json

import pytest

from memlake.transforms.base.batch import Batch
from memlake.transforms.base.conversation import ReadOptions, Source
from memlake.transforms.base.sources import Shard, plan_shards
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.read.beam import _ReadShardFn
from memlake.transforms.read.catalogue import read_sources
from memlake.transforms.read.gather import gather_shard

WORDS = "Shoes stay in the hall. " * 400
RECORDS = {
    "memlake-turns": lambda n: {"conversation_id": f"c{n}", "text": WORDS},
    "memlake-conversations": lambda n: {"conversation_id": f"c{n}", "turns": [{"text": WORDS}]},
    "openai-chat": lambda n: {"messages": [{"role": "user", "content": f"{n} {WORDS}"}]},
    "locomo": lambda _: {"speaker_a": "A", "speaker_b": "B", "session_1": []},
    "longmemeval": lambda n: {"question_id": f"q{n}", "question_type": "t", "haystack_sessions": []},
}


@pytest.fixture(params=RECORDS)
def shard(request, write) -> Shard:
    """Three files of one format, two of them (some 3 MB) of many records."""
    name, made = request.param, RECORDS[request.param]
    lines = name not in ("locomo", "longmemeval")
    counts = (300, 1, 300)
    files = []
    for place, count in enumerate(counts):
        records = [made(place * 1000 + number) for number in range(count)]
        content = records if lines else (records[0] if name == "locomo" else json.dumps(records).encode())
        files.append(write(content, f"file{place}"))
    return Shard("source", 0, "seed", name, tuple(map(Source, files)))


def test_what_is_read_grows_up_to_the_size_of_the_shard(shard, tmp_path):
    told: list[int] = []
    list(read_sources(shard, ReadOptions(), told.append))
    assert told == sorted(told)
    assert told[-1] == shard.size(tmp_path)
    blocks = 4 if shard.format in ("memlake-conversations", "openai-chat") else 0
    assert len(told) >= len(shard.sources) + blocks


def test_byte_ranges_of_a_file_add_up_to_the_file(write, tmp_path):
    size = len(json.dumps(RECORDS["openai-chat"](10))) * 500
    uri = write([RECORDS["openai-chat"](10 + number % 90) for number in range(500)])
    shards = [
        Shard("source", place, "seed", "openai-chat", tuple(sources))
        for place, sources in enumerate(plan_shards([(uri, size)], "conversation_lines", shard_bytes=1_500_000))
    ]
    assert len(shards) > 2
    assert sum(shard.size(tmp_path) for shard in shards) == size
    for shard in shards:
        told: list[int] = []
        list(read_sources(shard, ReadOptions(), told.append))
        assert told == sorted(told)
        assert told[-1] == shard.size(tmp_path)


def test_progress_never_goes_back_and_ends_full(shard, tmp_path, monkeypatch):
    monkeypatch.setattr("memlake.transforms.lake.stage.progress._WRITE_EVERY_S", 0.0)
    (tmp_path / "lake" / "staged").mkdir(parents=True)
    progress = Progress(tmp_path / "lake" / "staged", "run")
    progress.open()
    shares = [progress.done(1).share]
    if shard.format == "memlake-turns":
        gather_shard(shard, lake=str(tmp_path / "lake"), options=ReadOptions(), buckets=2, run_id="run")
    else:
        reader = _ReadShardFn(BaseParts(str(tmp_path / "lake"), "", "c"), ReadOptions(), "run")
        for batch in reader.process(shard):
            assert isinstance(batch, Batch)
            shares.append(progress.done(1).share)
    shares.append(progress.done(1).share)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert progress.done(1).shards == 1
    if shard.format in ("locomo", "longmemeval"):
        assert progress.done(1).turns == 0
    else:
        assert progress.done(1).turns == 601


def test_shards_that_nobody_has_begun_count_as_average_ones(tmp_path):
    progress = Progress(tmp_path, "run")
    progress.open()
    for index, size in enumerate((100, 300)):
        progress.name_shard(index, "name", size)
    progress.finish_shard(0)
    progress.read(1, 100)
    progress.finish_shard(7)  # the notes are written at the end of a shard at the latest
    assert progress.done(4).share == (100 + 100) / (400 * 2)
    assert progress.done(0).share <= 1.0
