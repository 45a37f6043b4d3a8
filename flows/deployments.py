"""Flows that a Prefect worker runs; infra/prefect.yaml names them. No command imports this module, since it imports Prefect."""

from prefect import flow

from flows import ingest as ingestion


@flow(name="ingest", persist_result=False)
def ingest(settings: ingestion.IngestSettings) -> dict[str, object]:
    """Ingest transcripts into a lake; the summary of `memlake ingest --json`."""
    return ingestion.ingest(settings)
