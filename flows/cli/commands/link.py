"""`memlake link`: edges between stored units that are alike."""

from memlake.flows.cli.options import AsJson, configured, run
from memlake.flows.cli.printing import summaries
from memlake.flows.run.settings import LinkRunSettings, PrefectSettings


@configured
def link(settings: LinkRunSettings, where: PrefectSettings, *, as_json: AsJson = False) -> None:
    """Link the stored units of a conversation that are alike by their stored vectors, and publish one snapshot.

    Each link leaves one unit for another, with the cosine as its weight; a unit's own nearest ones, so the way back may
    be missing. New or changed units lose their links until this is run again.
    """
    from memlake.flows.link import link as flow

    made = run(flow, settings, name="link", prefect=where.prefect, quiet=settings.quiet)
    summaries.landed(made, settings, as_json=as_json)
