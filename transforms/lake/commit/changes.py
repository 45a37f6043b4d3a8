"""From resolved parts to files: what each table of the lake gains and loses in one commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import PARTS, TABLES
from memlake.schemas.vectors import made_by
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.commit.resolve import (
    LOSERS,
    Resolution,
    conflicting_versions,
    judge_conflicts,
    parts_rows,
    resolve,
    seen_parts,
)
from memlake.transforms.lake.stage.manifest import Manifest
from memlake.transforms.lake.storage.files import StagedFile, StagedFragment, split_partitions, stage_rows
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART, PART_KINDS, VECTORS_PART, kind_of_part
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.lake.storage.tables import Keys, active_files, count_hits, rows_of, without, without_rows

# Tables of studies that hold text or ids of conversations.
STUDY_TABLES = ("retrievals", "contexts", "answers", "judgements", "scores", "losses")
_NOTHING = pa.array([], pa.string())


@dataclass(slots=True)
class Counts:
    """Rows of a table: landed for new parts, landed in place of older ones, gone without a successor."""

    added: int = 0
    replaced: int = 0
    removed: int = 0


@dataclass(slots=True)
class Changes:
    """One commit, table by table.

    Attributes:
        files: Delta table to (paths that go, files that come).
        fragments: Lance table to (conversations whose rows go, fragments that come).
        rebuilt: Lance table that another model made, to be written anew, to the other corpora that it held.
    """

    corpus: str
    resolution: Resolution
    files: dict[str, tuple[list[str], list[StagedFile]]] = field(default_factory=dict)
    fragments: dict[str, tuple[pa.Array, list[StagedFragment]]] = field(default_factory=dict)
    rebuilt: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outdated: tuple[Manifest, ...] = ()
    counts: dict[str, Counts] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()

    @staticmethod
    def appending(files: Sequence[StagedFile]) -> "Changes":
        """A commit that only adds files and changes no conversation."""
        changes = Changes("", _unchanged())
        for file in files:
            changes.append(file.table, [file])
        return changes

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be committed."""
        return self.resolution.is_empty and not self.files and not self.fragments

    def append(self, table: str, files: Sequence[StagedFile]) -> None:
        """Add files to a table, whose rows are all new."""
        self.exchange(table, (), files)
        self.count(table).added += sum(file.rows for file in files)

    def exchange(self, table: str, gone: Sequence[str], come: Sequence[StagedFile]) -> None:
        """Take files out of a table, by path, and put others in."""
        if gone or come:
            remove, add = self.files.setdefault(table, ([], []))
            remove.extend(gone)
            add.extend(come)

    def count(self, table: str) -> Counts:
        """The counts of a table, to be added to."""
        return self.counts.setdefault(table, Counts())

    def audited(self) -> pa.Table:
        """The conversations that the audits look at: corpus, conversation_id."""
        names = pc.unique(self.resolution.landed["conversation_id"])
        return pa.table(
            {"corpus": pa.repeat(pa.scalar(self.corpus, pa.string()), len(names)), "conversation_id": names}
        )

    def stale(self) -> tuple[str, ...]:
        """Parts that lost rows which this run did not make anew; of other corpora, with the corpus's name."""
        gone = self.resolution.removed.filter(self.resolution.removed["stale"])
        others = (
            f"{VECTORS_PART.named(table)} of corpus {name}" for table, names in self.rebuilt.items() for name in names
        )
        return (*sorted(pc.unique(gone["part"]).to_pylist()), *sorted(others))

    def all_conflicts(self) -> tuple[str, ...]:
        """What was read in versions of which none, or only the first, landed: conversations, and parts of some."""
        dropped = self.resolution.dropped
        parts = dropped.filter(pc.equal(dropped["reason"], "conflicting_versions")).to_pylist()
        whole = set(self.conflicts)
        return (
            *(f"conversation {name!r}" for name in self.conflicts),
            *(
                f"{row['part']} of conversation {row['conversation_id']!r}"
                for row in parts
                if row["conversation_id"] not in whole and kind_of_part(row["part"]) is not VECTORS_PART
            ),
        )


def plan_changes(lake: Lake, base: Snapshot, manifests: Sequence[Manifest], corpus: str) -> Changes:
    """Work out the commit of some manifests on top of a base; rewrites files as needed, commits nothing."""
    seen = seen_parts([manifest.read_parts(lake.staged) for manifest in manifests])
    stored = base.read("parts", where=pc.field("corpus") == corpus)
    versions = judge_conflicts(lake, base, corpus, manifests, conflicting_versions(seen))
    resolution = resolve(seen, stored, versions.losers)
    changes = Changes(corpus, resolution, conflicts=versions.conflicts)
    changes.outdated = tuple(manifests[index] for index in resolution.outdated)
    if changes.outdated:
        return changes
    _take_out_of_base(lake, base, changes)
    for index, manifest in enumerate(manifests):
        _add_manifest(lake, changes, index, manifest)
    _rebuild_vectors(lake, base, changes)
    changes.exchange("parts", (), stage_rows(lake.root, PARTS, parts_rows(corpus, resolution.landed)))
    return changes


def plan_forgetting(lake: Lake, base: Snapshot, corpus: str, conversation: str) -> Changes:
    """Work out the commit that takes a conversation out of every table and leaves a tombstone in parts.

    Raises:
        NotFoundError: the base holds no such conversation.
    """
    where = (pc.field("corpus") == corpus) & (pc.field("conversation_id") == conversation)
    held = base.read("parts", columns=["conversation_id", "part", "rows"], where=where)
    held = held.filter(pc.not_equal(held["part"], FORGOTTEN_PART.name))
    if not held.num_rows:
        raise NotFoundError(
            f"corpus={corpus!r} holds no conversation={conversation!r}",
            hint="memlake sql 'select corpus, conversation_id from conversations'",
        )
    nothing = _unchanged()
    tombstone = {"manifest": -1, "conversation_id": conversation, "part": FORGOTTEN_PART.name}
    tombstone |= {"content_hash": "", "rows": 0, "replaces": False}
    landed = pa.Table.from_pylist([tombstone], schema=nothing.landed.schema)
    removed = held.append_column("stale", pa.array([True] * held.num_rows)).cast(nothing.removed.schema)
    changes = Changes(corpus, replace(nothing, landed=landed, removed=removed))
    _take_out_of_base(lake, base, changes)
    found = pa.table({"conversation_id": [conversation], "corpus": [corpus]})
    for table in STUDY_TABLES:
        _take_out(lake, base, changes, table, [Keys.of(found, ("conversation_id", "corpus"), {})], [])
    changes.exchange("parts", (), stage_rows(lake.root, PARTS, parts_rows(corpus, landed)))
    return changes


def _take_out_of_base(lake: Lake, base: Snapshot, changes: Changes) -> None:
    removed = changes.resolution.removed
    if not removed.num_rows:
        return
    stale = table_keys(removed.filter(removed["stale"]), changes.corpus)
    for table, keys in table_keys(removed, changes.corpus).items():
        _take_out(lake, base, changes, table, keys, stale.get(table, []))
    for table, conversations in vector_keys(removed.filter(removed["stale"])).items():
        stored = base.lance_table(table)
        rows = rows_of(stored, changes.corpus, conversations) if stored is not None else {}
        changes.count(table).removed += sum(map(len, rows.values()))
    for table, conversations in vector_keys(removed).items():
        changes.fragments[table] = (conversations, [])


def _take_out(lake: Lake, base: Snapshot, changes: Changes, table: str, keys: list[Keys], stale: list[Keys]) -> None:
    """Replace the base's files that hold keyed rows by files without them; count those that have no successor."""
    counts = changes.count(table)
    for file in active_files(table, base.delta(table)).values():
        counts.removed += count_hits(lake.root, [file], stale)
        left, taken = without(lake.root, file, keys)
        if taken:
            changes.exchange(table, [file.path], left)


def _add_manifest(lake: Lake, changes: Changes, index: int, manifest: Manifest) -> None:
    """Add a manifest's files, written anew without the rows that must not land."""
    dropped = _of(changes.resolution.dropped, index)
    landed = _of(changes.resolution.landed, index)
    drop_keys = table_keys(dropped, changes.corpus)
    replaced_keys = table_keys(landed.filter(landed["replaces"]), changes.corpus)
    for file in manifest.files:
        left, replaced = [file], 0
        if file.table in drop_keys:
            left, _ = without(lake.root, file, drop_keys[file.table])
        if not left:
            continue
        if file.table in replaced_keys:
            replaced = count_hits(lake.root, left, replaced_keys[file.table])
        changes.exchange(file.table, (), left)
        counts = changes.count(file.table)
        counts.replaced += replaced
        counts.added += sum(part.rows for part in left) - replaced
    drop_vectors = vector_keys(dropped)
    replaced_vectors = vector_keys(landed.filter(landed["replaces"]))
    for fragment in manifest.fragments:
        kept, _ = without_rows(lake, [fragment], drop_vectors.get(fragment.table, _NOTHING))
        if not kept:
            continue
        gone, add = changes.fragments.setdefault(fragment.table, (_NOTHING, []))
        changes.fragments[fragment.table] = (gone, [*add, *kept])
        counts = changes.count(fragment.table)
        rows = sum(part.rows for part in kept)
        if fragment.table in replaced_vectors:
            _, replaced = without_rows(lake, kept, replaced_vectors[fragment.table])
            counts.replaced += replaced
            rows -= replaced
        counts.added += rows


def _rebuild_vectors(lake: Lake, base: Snapshot, changes: Changes) -> None:
    """Find Lance tables whose new fragments another model made: old vectors go, of other corpora too, never mixed."""
    for table, (_, fragments) in changes.fragments.items():
        stored = base.lance_table(table)
        if stored is None or not fragments or made_by(stored.schema) == made_by(fragments[0].arrow_schema()):
            continue
        theirs = (pc.field("part") == VECTORS_PART.named(table)) & (pc.field("corpus") != changes.corpus)
        held = base.read("parts", columns=["corpus", "conversation_id", "part"], where=theirs)
        names = pc.unique(held["corpus"]).to_pylist()
        for name in names:
            keys = table_keys(held.filter(pc.equal(held["corpus"], name)).drop_columns("corpus"), name)["parts"]
            _take_out(lake, base, changes, "parts", keys, keys)
        changes.rebuilt[table] = tuple(names)


def table_keys(parts: pa.Table, corpus: str) -> dict[str, list[Keys]]:
    """Which rows of which Delta tables some parts of a corpus own: a part is not always a whole conversation's rows."""
    keys: dict[str, list[Keys]] = {}
    if not parts.num_rows:
        return keys
    for kind in PART_KINDS:
        rows = kind.among(parts)
        rows = rows.append_column("corpus", pa.repeat(corpus, rows.num_rows))
        for table in kind.tables:
            declared = TABLES[table]
            columns = ("conversation_id", *(name for name in kind.columns if name not in declared.partition_by))
            for partition, piece in split_partitions(declared, rows):
                keys.setdefault(table, []).append(Keys.of(piece, columns, partition))
    keys["parts"] = [Keys.of(parts, ("conversation_id", "part"), {"corpus": corpus})]
    return keys


def vector_keys(parts: pa.Table) -> dict[str, pa.Array]:
    """Which conversations' rows of which Lance tables some parts own."""
    if not parts.num_rows:
        return {}
    vectors = VECTORS_PART.among(parts)
    return {
        table: pc.unique(vectors.filter(pc.equal(vectors["vector_table"], table))["conversation_id"])
        for table in pc.unique(vectors["vector_table"]).to_pylist()
    }


def _of(rows: pa.Table, index: int) -> pa.Table:
    return rows.filter(pc.equal(rows["manifest"], index))


def _unchanged() -> Resolution:
    return resolve(seen_parts([]), PARTS.empty(), LOSERS.empty_table())
