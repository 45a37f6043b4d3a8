"""`memlake ingest`: transcripts in, one new snapshot out."""

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import summaries
from memlake.flows.run.config import Configuration
from memlake.flows.run.settings import IngestSettings, PrefectSettings


@configured
def ingest(settings: IngestSettings, where: PrefectSettings, configuration: Configuration) -> None:
    """Read transcripts, make units and vectors, publish one snapshot; what is unchanged costs next to nothing.

    Ends with exit code 3 when it was done but more files or records died than is allowed; the rest has landed.
    """
    if fault := configuration.chunk_fault():
        raise fault
    from memlake.flows.ingest import ingest as flow
    from memlake.flows.run.adapter import run_flow

    made = run_flow(flow, settings, name="ingest", prefect=where.prefect, quiet=settings.quiet)
    summaries.landed(made, settings)
