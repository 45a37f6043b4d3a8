"""`memlake embed`: vectors of stored units."""

from memlake.flows.cli.options import AsJson, Corpus, ModelFlags, Names, PipelineFlags, Quiet, run, settings, split
from memlake.flows.cli.printing import summaries

_NO_PIPELINE, _NO_MODEL = PipelineFlags(), ModelFlags()


def embed(
    *,
    corpus: Corpus,
    representations: Names = None,
    pipeline: PipelineFlags = _NO_PIPELINE,
    models: ModelFlags = _NO_MODEL,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed the stored units of every representation, or of those named, and publish one snapshot.

    Embedders: static (offline), bge-m3, bge-m3-multi, other checkpoints by path, openai:MODEL.
    """
    chosen = settings(pipeline, models)
    from memlake.flows.embed import embed as flow
    from memlake.flows.run.settings import EmbedSettings, model_settings, pipeline_settings

    wish = EmbedSettings(
        representations=split(representations) or (),
        models=model_settings(chosen),
        **pipeline_settings(chosen, corpus=corpus, quiet=quiet),
    )
    made = run(flow, wish, name="embed", prefect=chosen.prefect, quiet=quiet)
    summaries.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
