"""Flows that a Prefect worker runs; infra/prefect.yaml names them. No command imports this module, since it imports Prefect."""

from prefect import flow

from memlake.flows import ingest as ingestion
from memlake.flows import represent as representation
from memlake.flows.run.settings import IngestSettings, RepresentSettings


@flow(name="ingest", persist_result=False)
def ingest(settings: IngestSettings) -> dict[str, object]:
    """Ingest transcripts into a lake; the summary of `memlake ingest --json`."""
    return ingestion.ingest(settings)


@flow(name="represent", persist_result=False)
def represent(settings: RepresentSettings) -> dict[str, object]:
    """Make representations of stored turns, with a model where they ask one; the summary of `memlake represent --json`."""
    return representation.represent(settings)
