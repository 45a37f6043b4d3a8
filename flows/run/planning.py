"""From sources to shards: what an ingest reads, in which pieces, and what a dry run says of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from memlake.flows.run.settings import IngestSettings
from memlake.schemas import ALL
from memlake.transforms.base.conversation import DeadLetter, ReadOptions, Source
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import content_id
from memlake.transforms.base.sources import Shard, expand_sources, shard_digest
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.read.batches import UNITS_FORMAT, read_batches
from memlake.transforms.read.catalogue import FORMATS, REVISIONS, check_format, plan_sources, read_source
from memlake.transforms.read.gather import drop_gathered, gather, partial_rows, read_gathered

# A bucket is held in memory as whole conversations, so it is smaller than a shard, which is streamed.
BUCKET_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """The shards of some sources, by format.

    Attributes:
        dead: a letter for each file that no format claims.
        fingerprint: readers' revisions, schema versions and corrections; part of every shard's name.
    """

    sources: dict[str, list[list[Source]]]
    dead: tuple[DeadLetter, ...]
    files: int
    total_bytes: int
    options: ReadOptions
    fingerprint: str

    @property
    def buckets(self) -> int:
        """Into how many buckets a-turn-a-line sources are gathered."""
        return max(1, -(-self.total_bytes // BUCKET_BYTES))

    def shards(self, seed: str) -> list[Shard]:
        """Shards that one job can stage."""
        return self._shards(seed, gathered=False)

    def gathering(self, seed: str) -> list[Shard]:
        """Shards whose turns are to be gathered first."""
        return self._shards(f"{seed}|gather|{self.buckets}", gathered=True)

    def _shards(self, seed: str, *, gathered: bool) -> list[Shard]:
        found = [
            (name, piece)
            for name, pieces in self.sources.items()
            if (FORMATS[name].layout == "turn_lines") == gathered
            for piece in pieces
        ]
        return [Shard("source", index, seed, name, tuple(piece)) for index, (name, piece) in enumerate(found)]


def plan_files(settings: IngestSettings) -> IngestPlan:
    """Find the files and plan their shards by size.

    Raises:
        NotFoundError: a source, or the corrections, name no file.
        UsageError: an unknown format, or transcripts together with units for stored conversations.
    """
    check_format(settings.format)
    files = expand_sources(settings.sources)
    options = ReadOptions(corrections=settings.corrections)
    corrections = ""
    if settings.corrections:
        corrected = [Source(uri) for uri, _ in expand_sources([settings.corrections])]
        corrections = shard_digest(corrected)
    versions = ",".join(f"{table.name}={table.version}" for table in ALL)
    sources, dead = plan_sources(files, settings.format, shard_bytes=settings.shard_bytes)
    if UNITS_FORMAT in sources and len(sources) > 1:
        # The units would meet the turns that the lake holds, not those that come with them.
        raise UsageError(
            f"sources hold transcripts and units for stored conversations ({', '.join(sorted(sources))})",
            hint="ingest the transcripts first, then the files of units",
        )
    return IngestPlan(
        sources,
        tuple(dead),
        len(files),
        sum(size for _, size in files),
        options,
        content_id(str(sorted(REVISIONS.items())), versions, corrections),
    )


def plan_buckets(
    lake: Lake, names: Sequence[str], seed: str, *, first: int
) -> tuple[list[Shard], list[pa.Table]] | None:
    """Shards of gathered buckets, and the dead letters of the gathering; None when some of it is gone."""
    notes = [note for name in dict.fromkeys(names) if (note := read_gathered(lake.staged, name)) is not None]
    if len(notes) != len(set(names)) or not all(note.is_whole(lake.staged) for note in notes):
        return None
    files: dict[int, list[str]] = {}
    for note in notes:
        for bucket, file in note.files.items():
            files.setdefault(bucket, []).append(f"staged/{file}")
    sources = ",".join(sorted(note.shard for note in notes))
    shards = [
        Shard("bucket", first + place, seed, files=tuple(files[bucket]), digest=f"{bucket} of {sources}")
        for place, bucket in enumerate(sorted(files))
    ]
    return shards, [note.read_dead(lake.staged) for note in notes]


def forget_gathered(lake: Lake, names: Sequence[str]) -> None:
    """Delete what was gathered: its conversations are published."""
    for name in names:
        note = read_gathered(lake.staged, name)
        if note is not None:
            drop_gathered(lake.staged, note)


def read_only(plan: IngestPlan, settings: IngestSettings) -> dict[str, object]:
    """Read everything and write nothing: the document of `memlake ingest --dry-run --json`."""
    base_parts = _base_parts(settings)
    seen: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    dead: Counter[str] = Counter(letter.reason for letter in plan.dead)
    for shard in plan.shards(""):
        for batch in read_batches(shard, "", base_parts, plan.options):
            seen.update(batch.seen)
            dead.update(letter.reason for letter in batch.dead)
            parts.update("changed" if staged else "unchanged" for staged in batch.parts["staged"].to_pylist())
    for shard in plan.gathering(""):
        # Gathering needs all turns of a conversation at once; a dry run counts what one shard holds.
        partials = []
        for source in shard.sources:
            for item in read_source(source, shard.format, plan.options):
                if isinstance(item, DeadLetter):
                    dead[item.reason] += 1
                else:
                    partials.append(partial_rows([item]))
        for made in gather(pa.concat_tables(partials)) if partials else ():
            if isinstance(made, DeadLetter):
                dead[made.reason] += 1
            else:
                seen.update(conversations=1, sessions=len(made.sessions), turns=len(made.text))
    return {
        "dry_run": True,
        "files": plan.files,
        "bytes": plan.total_bytes,
        "shards": len(plan.shards("")) + len(plan.gathering("")),
        "seen": dict(seen),
        "parts": dict(parts),
        "dead_letters": dict(sorted(dead.items())),
    }


def _base_parts(settings: IngestSettings) -> BaseParts:
    try:
        lake = open_lake(settings.lake)
    except NotFoundError:
        return BaseParts("", "", settings.corpus)
    return BaseParts(str(lake.root), lake.latest().snapshot_id, settings.corpus)
