"""`memlake search`: a look at what a plan retrieves."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import AsJson, At, Corpus, Embedder, LakeUri, ModelFlags, settings
from memlake.flows.cli.printing import output, table

# What of a unit a person sees of a result; --json has all of it.
SHOWN_CHARS = 160
_NO_MODEL = ModelFlags()


def search(
    text: Annotated[str, Parameter(help="What to look for: a question or some words.")],
    /,
    *,
    corpus: Corpus,
    conversation: Annotated[str, Parameter(help="Only in this conversation.")] = "",
    representation: Annotated[str, Parameter(help="Whose units are searched.")] = "chunks",
    plan: Annotated[str, Parameter(help="hybrid, dense, lexical or rrf.")] = "hybrid",
    embedder: Embedder = None,
    k: Annotated[int, Parameter(help="How many units.")] = 5,
    models: ModelFlags = _NO_MODEL,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
) -> None:
    """Rank the units of a corpus, or of one conversation, for a text."""
    chosen = settings(models, lake=lake, embedder=embedder)
    from memlake.flows.run.settings import model_settings
    from memlake.transforms.evaluate.search import SearchSettings
    from memlake.transforms.evaluate.search import search as find

    found = find(
        SearchSettings(
            lake=chosen.lake,
            text=text,
            corpus=corpus,
            representation=representation,
            plan=plan,
            embedder=chosen.embedder,
            k=k,
            conversation=conversation,
            at=at,
            models=model_settings(chosen),
        )
    )
    if found.without_units:
        output.note(
            f"{found.without_units:,} of {found.conversations:,} conversations of corpus={corpus} have no units of "
            f"representation={representation}, and were not searched"
        )
    if as_json:
        output.document(found.rows)
        return
    shown = ("rank", "score", "dense", "lexical", "conversation_id", "show_text")
    table.show_rows([{name: row[name] for name in shown} for row in found.rows], max_cell=SHOWN_CHARS)
