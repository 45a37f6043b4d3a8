"""`memlake represent`: further representations of turns that the lake holds."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import summaries
from memlake.flows.run.settings import PrefectSettings, RepresentSettings


@configured
def represent(
    settings: RepresentSettings,
    where: PrefectSettings,
    *,
    plan: Annotated[
        bool,
        Parameter(
            name="--plan", negative="", show_default=False, help="Say what it would call and cost; call nothing."
        ),
    ] = False,
) -> None:
    """Make representations from stored turns, embed them, publish one snapshot.

    Without a model: chunks, turns, sentences, sessions, rule_summary, artifacts_rules, chunks_published, date_windows.
    With one (--model NAME): artifacts, propositions, summaries, rolling_summary, keyphrases, facts. Ends with exit code 3
    when it was done but more pieces failed for good than is allowed; the rest has landed.
    """
    from memlake.flows.represent import price_represent
    from memlake.flows.represent import represent as flow
    from memlake.flows.run.adapter import run_flow

    if plan:
        summaries.priced(price_represent(settings))
        return
    made = run_flow(flow, settings, name="represent", prefect=where.prefect, quiet=settings.quiet)
    summaries.landed(made, settings)
