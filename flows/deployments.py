"""Flows that a Prefect worker runs; infra/prefect.yaml names them. No command imports this module, since it imports Prefect."""

from prefect import flow

from flows import ingest as ingestion
from flows.settings import IngestSettings


@flow(name="ingest", persist_result=False)
def ingest(settings: IngestSettings) -> dict[str, object]:
    """Ingest transcripts into a lake; the summary of `memlake ingest --json`."""
    return ingestion.ingest(settings)
