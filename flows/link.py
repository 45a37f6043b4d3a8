"""Link: edges between stored units that are alike."""

from dataclasses import asdict

import pyarrow.compute as pc

from memlake.flows.run.jobs import StageJob
from memlake.flows.run.landing import Landing, from_stored, seed_of
from memlake.flows.run.record import finish, run_of
from memlake.flows.run.settings import LinkRunSettings
from memlake.schemas.vectors import vectors_table
from memlake.transforms.embed.catalogue import check_embedder
from memlake.transforms.lake.query.stored_shards import check_representations
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.parts import UNITS_PART, VECTORS_PART, BaseParts
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.link.batches import LinkSpec, not_embedded
from memlake.transforms.represent.batches import BuildSpec


def link(settings: LinkRunSettings) -> dict[str, object]:
    """Link stored units by their stored vectors and publish one snapshot; the document of `memlake link --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation, or units that are not embedded.
    """
    check_embedder(settings.embedder)
    lake = open_lake(settings.lake)
    with run_of(lake, "link", asdict(settings)) as run:
        base = lake.snapshot()
        chosen = check_representations(base, settings.corpus, tuple(dict.fromkeys(settings.names)))
        for name in chosen:
            _check_embedded(base, settings.corpus, name, settings.embedder)
        spec = LinkSpec(settings.embedder, settings.links)
        build = BuildSpec(BaseParts(str(lake.root), base.snapshot_id, settings.corpus), ())
        seed = seed_of(build, "link", settings.embedder, settings.links.settings_hash, *chosen)
        job = StageJob(build, run.run_id, settings.execution, links=spec)
        published, report = Landing(run, job, settings.lock_timeout_s).land(
            base, from_stored(settings, "units", seed, chosen)
        )
        return finish(run, published, report)


def _check_embedded(base: Snapshot, corpus: str, representation: str, embedder: str) -> None:
    """Refuse before any work what the first batch would refuse.

    Raises:
        NotFoundError: some of the units have no vectors by this embedder.
    """
    parts = base.read("parts", columns=["conversation_id", "part"], where=pc.field("corpus") == corpus)
    units, vectors = (
        parts.filter(pc.equal(parts["part"], part))["conversation_id"]
        for part in (UNITS_PART.named(representation), VECTORS_PART.named(vectors_table(representation, embedder)))
    )
    if not pc.all(pc.is_in(units, value_set=vectors.combine_chunks())).as_py():
        raise not_embedded(representation, embedder, corpus)
