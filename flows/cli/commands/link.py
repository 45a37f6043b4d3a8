"""`memlake link`: edges between stored units that are alike."""

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import summaries
from memlake.flows.run.settings import LinkRunSettings, PrefectSettings


@configured
def link(settings: LinkRunSettings, where: PrefectSettings) -> None:
    """Link the stored units of a conversation that are alike by their stored vectors, and publish one snapshot.

    Each link leaves one unit for another, with the cosine as its weight; a unit's own nearest ones, so the way back may
    be missing. New or changed units lose their links until this is run again.
    """
    from memlake.flows.link import link as flow
    from memlake.flows.run.adapter import run_flow

    made = run_flow(flow, settings, name="link", prefect=where.prefect, quiet=settings.quiet)
    summaries.landed(made, settings)
