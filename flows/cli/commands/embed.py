"""`memlake embed`: vectors of stored units."""

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import summaries
from memlake.flows.run.settings import EmbedSettings, PrefectSettings


@configured
def embed(settings: EmbedSettings, where: PrefectSettings) -> None:
    """Embed the stored units of every representation, or of those named, and publish one snapshot.

    Embedders: static (offline), bge-m3, bge-m3-multi, other checkpoints by path, openai:MODEL.
    """
    from memlake.flows.embed import embed as flow
    from memlake.flows.run.adapter import run_flow

    made = run_flow(flow, settings, name="embed", prefect=where.prefect, quiet=settings.quiet)
    summaries.landed(made, settings)
