"""`memlake link`: edges between stored units that are alike."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import AsJson, Corpus, PipelineFlags, Quiet, run, settings, split
from memlake.flows.cli.printing import summaries

_NO_PIPELINE = PipelineFlags()


def link(
    names: Annotated[tuple[str, ...], Parameter(help="Representations whose units are linked; they must be embedded.")],
    /,
    *,
    corpus: Corpus,
    threshold: Annotated[float, Parameter(name="--threshold", help="Least cosine of two linked units.")] = 0.5,
    k: Annotated[int, Parameter(name="--k", help="Most links that leave a unit; 0 for no limit.")] = 10,
    shared_word_threshold: Annotated[
        float | None,
        Parameter(
            name="--shared-word-threshold",
            help="Least cosine where two units share a word of three letters or more that is no stop word.",
        ),
    ] = None,
    relation: Annotated[
        str, Parameter(name="--relation", help="Name of these links; other settings under it replace them.")
    ] = "similar",
    pipeline: PipelineFlags = _NO_PIPELINE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Link the stored units of a conversation that are alike by their stored vectors, and publish one snapshot.

    Each link leaves one unit for another, with the cosine as its weight; a unit's own nearest ones, so the way back may
    be missing. New or changed units lose their links until this is run again.
    """
    chosen = settings(pipeline)
    from memlake.flows.link import LinkRunSettings
    from memlake.flows.link import link as flow
    from memlake.flows.run.settings import pipeline_settings
    from memlake.transforms.link.similar import LinkSettings

    wish = LinkRunSettings(
        names=split(names) or (),
        links=LinkSettings(threshold, k, shared_word_threshold, relation),
        **pipeline_settings(chosen, corpus=corpus, quiet=quiet),
    )
    made = run(flow, wish, name="link", prefect=chosen.prefect, quiet=quiet)
    summaries.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
