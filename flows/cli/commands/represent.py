"""`memlake represent`: further representations of turns that the lake holds."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import (
    AllowDeadRecords,
    AsJson,
    Corpus,
    ModelFlags,
    PipelineFlags,
    Quiet,
    run,
    settings,
    split,
)
from memlake.flows.cli.printing import summaries

# Written out, since the catalogue's own imports would make the help slow.
NAMES = (
    "By rule: chunks, turns, sentences, sessions, rule_summary, artifacts_rules, chunks_published, date_windows. By a model "
    "(--model): artifacts, propositions, summaries, rolling_summary, keyphrases, facts. Other settings under a name of your own: "
    "NAME-WORD:KEY=VALUE,KEY=VALUE (a KEY that there is not lists those there are)."
)
_NO_PIPELINE, _NO_MODEL = PipelineFlags(), ModelFlags()


def represent(
    names: Annotated[
        tuple[str, ...],
        Parameter(help=NAMES),
    ],
    /,
    *,
    corpus: Corpus,
    plan: Annotated[
        bool,
        Parameter(
            name="--plan", negative="", show_default=False, help="Say what it would call and cost; call nothing."
        ),
    ] = False,
    allow_dead_records: AllowDeadRecords = None,
    pipeline: PipelineFlags = _NO_PIPELINE,
    models: ModelFlags = _NO_MODEL,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make representations from stored turns, embed them, publish one snapshot.

    Without a model: chunks, turns, sentences, sessions, rule_summary, artifacts_rules, chunks_published, date_windows.
    With one (--model NAME): artifacts, propositions, summaries, rolling_summary, keyphrases, facts. Ends with exit code 3
    when it was done but more pieces failed for good than is allowed; the rest has landed.
    """
    chosen = settings(pipeline, models, allow_dead_records=allow_dead_records)
    from memlake.flows.represent import represent as flow
    from memlake.flows.run.settings import RepresentSettings, model_settings, pipeline_settings

    wish = RepresentSettings(
        names=split(names) or (),
        allow_dead_records=chosen.allow_dead_records,
        models=model_settings(chosen),
        **pipeline_settings(chosen, corpus=corpus, quiet=quiet),
    )
    if plan:
        from memlake.flows.represent import price_represent

        summaries.priced(price_represent(wish), as_json=as_json)
        return
    made = run(flow, wish, name="represent", prefect=chosen.prefect, quiet=quiet)
    summaries.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
