"""The committer: under the lock, commit each table once, audit what was committed, publish one snapshot row."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from memlake.schemas import REPRESENTATIONS
from memlake.transforms.base.errors import AuditError, LakeConflictError, UsageError
from memlake.transforms.lake.commit.changes import Changes, Counts, plan_changes, plan_forgetting
from memlake.transforms.lake.stage.manifest import Manifest, StageAgainError, drop_manifest, set_aside
from memlake.transforms.lake.storage.files import StagedFile, stage_rows
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.lock import Lock
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART, UNITS_PART
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot
from memlake.transforms.lake.storage.tables import commit_fragments, commit_table, rows_of, tag_version

# Offending rows of each audit, by audit name, among some conversations of a candidate snapshot.
Audit = Callable[[Snapshot, pa.Table], Mapping[str, pa.Table]]


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    """What a commit did; `snapshot_id` is None when there was nothing to publish."""

    snapshot_id: str | None
    base_snapshot_id: str | None
    counts: Mapping[str, Counts] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    skipped: int = 0
    conflicts: tuple[str, ...] = ()
    pins: Mapping[str, Pin] = field(default_factory=dict)


def publish_shards(
    lake: Lake,
    manifests: Sequence[Manifest],
    *,
    corpus: str,
    run_id: str,
    operation: str,
    audit: Audit,
    representations: pa.Table | None = None,
    lock_timeout_s: float = 60.0,
) -> PublishedSnapshot:
    """Commit what shards staged, if it is still news to the latest snapshot.

    Args:
        manifests: of the shards, as they were read; whether they still are true is looked at under the lock.
        audit: run on the committed versions; any offending row publishes nothing.
        representations: rows of the representations table for the names that the shards made.

    Raises:
        StageAgainError: a manifest has been committed by another run, or its files are gone, or it is outdated.
        AuditError: the audit found offending rows; the manifests are set aside.
        LakeBusyError, LakeConflictError: another writer was there; nothing was published.
    """
    with lake.lock(run_id, timeout_s=lock_timeout_s) as held:
        book, base = lake.head()
        if broken := [manifest.shard for manifest in manifests if not manifest.is_whole(lake.root)]:
            raise StageAgainError(broken)
        changes = plan_changes(lake, base, manifests, corpus)
        if changes.outdated:
            for manifest in changes.outdated:
                drop_manifest(lake.staged, manifest)
            raise StageAgainError(manifest.shard for manifest in changes.outdated)
        if representations is not None and changes.resolution.landed.num_rows:
            _add_representations(lake, base, representations, changes)
        published = PublishedSnapshot(
            None, base.snapshot_id or None, skipped=changes.resolution.skipped, conflicts=changes.all_conflicts()
        )
        if not changes.is_empty:
            published = _commit(lake, book, base, changes, held, audit, manifests, run_id=run_id, operation=operation)
        for manifest in manifests:
            drop_manifest(lake.staged, manifest)
        return published


def publish_files(
    lake: Lake,
    files: Sequence[StagedFile],
    *,
    conversations: Mapping[str, pa.Array],
    run_id: str,
    operation: str,
    lock_timeout_s: float = 60.0,
) -> PublishedSnapshot:
    """Append staged files of a study (cells, retrievals, contexts, scores, ...) as one snapshot.

    Args:
        conversations: by corpus, ids of the conversations that the files hold something of.

    Raises:
        LakeBusyError, LakeConflictError: another writer was there, or one of the conversations has been forgotten
            meanwhile; nothing was published.
    """
    with lake.lock(run_id, timeout_s=lock_timeout_s) as held:
        book, base = lake.head()
        for corpus, names in conversations.items():
            gone = forgotten_of(base, corpus)
            back = pc.filter(gone, pc.is_in(gone, value_set=names))
            if len(back):
                raise LakeConflictError(
                    f"conversation={back[0].as_py()!r} of corpus={corpus!r} was forgotten while this run read it; "
                    "nothing was published",
                    hint="run the command again; it leaves forgotten conversations out",
                )
        changes = Changes.appending(files)
        # Rows of a study are checked by their own schema; the audits look at conversations.
        return _commit(lake, book, base, changes, held, None, (), run_id=run_id, operation=operation)


def forgotten_of(base: Snapshot, corpus: str) -> pa.Array:
    """Ids of the conversations of a corpus that a snapshot marks as forgotten."""
    where = (pc.field("corpus") == corpus) & (pc.field("part") == FORGOTTEN_PART.name)
    return base.read("parts", columns=["conversation_id"], where=where)["conversation_id"].combine_chunks()


def forget(
    lake: Lake, corpus: str, conversation: str, *, run_id: str, audit: Audit, lock_timeout_s: float = 60.0
) -> PublishedSnapshot:
    """Publish a snapshot without a conversation; its tombstone keeps later ingests from bringing it back.

    Older snapshots still hold it.

    Raises:
        NotFoundError: the latest snapshot holds no such conversation.
    """
    with lake.lock(run_id, timeout_s=lock_timeout_s) as held:
        book, base = lake.head()
        changes = plan_forgetting(lake, base, corpus, conversation)
        return _commit(lake, book, base, changes, held, audit, (), run_id=run_id, operation="forget")


def restore(lake: Lake, at: str, *, run_id: str, lock_timeout_s: float = 60.0) -> Snapshot:
    """Publish an old snapshot's versions as the newest one; no table is touched and no history lost.

    Raises:
        NotFoundError: there is no such snapshot.
        UsageError: it holds conversations that have been forgotten since.
    """
    with lake.lock(run_id, timeout_s=lock_timeout_s) as held:
        book, base = lake.head()
        old = lake.snapshot(at)
        back = _tombstones(base) - _tombstones(old)
        if back:
            corpus, conversation = min(back)
            raise UsageError(
                f"snapshot={at!r} still holds {len(back)} conversations that were forgotten since, such as "
                f"conversation={conversation!r} of corpus={corpus!r}",
                hint="restore a snapshot made after they were forgotten, or read this one with --at",
            )
        held.check()
        lake.append_snapshot(book, base, old.pins, run_id=run_id, operation="restore")
        return lake.latest()


def _tombstones(snapshot: Snapshot) -> set[tuple[str, str]]:
    """(corpus, conversation_id) of every forgotten conversation."""
    where = pc.field("part") == FORGOTTEN_PART.name
    rows = snapshot.read("parts", columns=["corpus", "conversation_id"], where=where)
    return set(zip(rows["corpus"].to_pylist(), rows["conversation_id"].to_pylist(), strict=True))


def _commit(
    lake: Lake,
    book: DeltaTable,
    base: Snapshot,
    changes: Changes,
    held: Lock,
    audit: Audit | None,
    manifests: Sequence[Manifest],
    *,
    run_id: str,
    operation: str,
) -> PublishedSnapshot:
    pins = dict(base.pins)
    for table, (remove, add) in changes.files.items():
        held.check()
        pins[table] = commit_table(lake, base, table, remove=remove, add=add)
    for table, (gone, fragments) in changes.fragments.items():
        held.check()
        stored = base.lance_table(table)
        anew = table in changes.rebuilt
        drop = rows_of(stored, changes.corpus, gone) if stored is not None and len(gone) and not anew else {}
        if drop or fragments:
            pins[table] = commit_fragments(lake, base, table, drop=drop, add=fragments, anew=anew)
    candidate = Snapshot(lake.root, "candidate", base.sequence + 1, pins=pins)
    if audit and (offending := audit(candidate, changes.audited())):
        for manifest in manifests:
            set_aside(lake.staged, manifest, run_id)
        raise AuditError(_describe(offending), hint=f"nothing was published; look into {lake.staged}")
    snapshot_id = secrets.token_hex(8)
    for table in changes.fragments:
        if table in pins and pins[table] != base.pins.get(table):
            tag_version(lake, pins[table], snapshot_id)
    held.check()
    lake.append_snapshot(book, base, pins, run_id=run_id, operation=operation, snapshot_id=snapshot_id)
    return PublishedSnapshot(
        snapshot_id,
        base.snapshot_id or None,
        counts=changes.counts,
        stale=changes.stale(),
        skipped=changes.resolution.skipped,
        conflicts=changes.all_conflicts(),
        pins=pins,
    )


def _add_representations(lake: Lake, base: Snapshot, rows: pa.Table, changes: Changes) -> None:
    """Land the rows of names that the base does not know.

    Raises:
        UsageError: another writer stored one of the names with other settings meanwhile.
    """
    stored = base.read("representations")
    known = stored["representation"]
    hashes = dict(zip(known.to_pylist(), stored["settings_hash"].to_pylist(), strict=True))
    for row in rows.to_pylist():
        if hashes.get(row["representation"], row["settings_hash"]) != row["settings_hash"]:
            raise UsageError(
                f"representation={row['representation']!r} was stored with other settings by another writer meanwhile",
                hint=f"give it another name, such as {row['representation']}-2:KEY=VALUE",
            )
    made = UNITS_PART.among(changes.resolution.landed)["representation"]
    news = pc.and_(
        pc.invert(pc.is_in(rows["representation"], value_set=known.combine_chunks())),
        pc.is_in(rows["representation"], value_set=made.combine_chunks()),
    )
    fresh = rows.filter(news)
    if fresh.num_rows:
        changes.append("representations", stage_rows(lake.root, REPRESENTATIONS, fresh))


def _describe(offending: Mapping[str, pa.Table]) -> str:
    """One line that names each failed audit, its count and its first offending row."""
    parts = [
        f"{name}: {rows.num_rows} rows, first {rows.slice(0, 1).to_pylist()[0]}" for name, rows in offending.items()
    ]
    return f"{len(parts)} audits failed; " + "; ".join(parts)
