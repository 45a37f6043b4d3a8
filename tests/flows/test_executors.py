"""A job is data: whatever does it, where and in which pieces, gives the same tables; and there may be no end of shards."""

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import chain, count, islice, repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations

from memlake.flows.run.jobs import Executor, Job, StageJob, run_in_beam
from memlake.flows.run.landing import Landing, ShardPlanner, build_of, seed_of
from memlake.flows.run.planning import plan_files
from memlake.flows.run.record import run_of
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.base.sources import Shard, plan_shards, source_bytes
from memlake.transforms.lake.commit.publish import PublishedSnapshot
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.edge import EdgeSettings


def land(settings: IngestSettings, execute: Executor, plan: ShardPlanner | None = None) -> PublishedSnapshot:
    """An ingest whose job is done by an executor of the caller's."""
    lake = open_lake(settings.lake, create=True)
    with run_of(lake, "ingest", asdict(settings)) as run:
        build = build_of(lake, lake.latest(), settings.corpus, settings.specs(), settings.embedder_name)
        job = StageJob(build, run.run_id, settings.execution)
        shards = plan_files(settings).shards(seed_of(build))
        return Landing(run, job, execute=execute).land(lake.latest(), plan or (lambda _: (shards, ())))[0]


def in_processes(job: Job, shards: Iterable[Shard]) -> list[str]:
    """Each shard in a process that knows nothing but what it is handed."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(chain.from_iterable(pool.map(run_in_beam, repeat(job), ([shard] for shard in shards))))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "chats.jsonl", [conversation(f"c{n}", 10) for n in range(6)])


def test_a_process_pool_gives_the_tables_that_beam_gives_and_a_second_run_finds_nothing_new(tmp_path, source):
    settings = [
        IngestSettings(
            str(tmp_path / name), "c", (str(source),), representations=("chunks", "turns"), shard_bytes=2_000
        )
        for name in ("one", "other")
    ]
    assert len(plan_files(settings[0]).shards("seed")) >= 3
    land(settings[0], run_in_beam)
    land(settings[1], in_processes)
    assert digest(tmp_path / "one") == digest(tmp_path / "other")
    assert digest(tmp_path / "one")["turns"][0] == 60
    for made, execute in zip(settings, (in_processes, run_in_beam), strict=True):
        again = land(made, execute)
        assert (again.snapshot_id, again.skipped) == (None, 6)
        assert_sound(made.lake)
        assert list((Path(made.lake) / "staged").iterdir()) == []


def test_a_job_is_data_with_the_address_of_the_models_limits_and_not_the_server(tmp_path, source):
    settings = IngestSettings(str(tmp_path / "lake"), "c", (str(source),))
    lake = open_lake(settings.lake, create=True)
    edge = EdgeSettings(settings.lake, "r", "http://localhost:1/v1", "provider", "localhost:2")
    build = build_of(lake, lake.latest(), "c", settings.specs(), settings.embedder_name, edge=edge)
    job = StageJob(build, "r", settings.execution)
    again = pickle.loads(pickle.dumps(job))
    assert again == job
    assert (again.lake, again.build.edge.quota) == (str(lake.root), "localhost:2")


def test_shards_without_an_end_land_as_far_as_an_executor_takes_them(tmp_path):
    planned: list[str] = []

    def files() -> Iterator[tuple[str, int | None]]:
        for number in count():
            planned.append(f"c{number}")
            path = write_conversations(tmp_path / f"{number}.jsonl", [conversation(f"c{number}", 4)])
            yield str(path), None

    def plan(_: object) -> tuple[Iterator[Shard], tuple[()]]:
        pieces = enumerate(plan_shards(files(), "conversation_lines"))
        return (Shard("source", place, "seed", "memlake-conversations", tuple(piece)) for place, piece in pieces), ()

    settings = IngestSettings(str(tmp_path / "lake"), "c", (str(tmp_path),), embedder="none")
    write_conversations(tmp_path / "chats.jsonl", [conversation("c0", 4)])
    land(settings, lambda job, shards: run_in_beam(job, islice(shards, 3)), plan)
    found = open_lake(settings.lake).snapshot().read("conversations", columns=["conversation_id"])
    assert sorted(found["conversation_id"].to_pylist()) == ["c0", "c1", "c2"]
    assert len(planned) <= 4


def test_what_has_no_known_size_is_read_all_the_same_and_its_progress_is_no_share(tmp_path):
    [endless] = plan_shards([("pipe:", None)], "turn_lines")
    assert source_bytes(endless[0]) is None
    shard = Shard("source", 0, "seed", "memlake-turns", tuple(endless))
    assert shard.size(tmp_path) is None
    progress = Progress(tmp_path, "r")
    progress.open()
    progress.name_shard(0, "name", shard.size(tmp_path))
    progress.name_shard(1, "other", 100)
    progress.finish_shard(1)
    assert progress.done(None).share is None
    assert progress.done(4).share == 1 / 4
    assert progress.names([1, 0]) == ["other", "name"]
