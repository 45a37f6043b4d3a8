"""`memlake search`: a look at what a plan retrieves."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import Corpus, EmbedderSettings, ReadSettings
from memlake.transforms.llm.settings import ModelSettings

# What of a unit a person sees of a result; --json has all of it.
SHOWN_CHARS = 160


@configured
def search(
    text: Annotated[str, Parameter(help="What to look for: a question or some words.")],
    /,
    *,
    corpus: Corpus,
    conversation: Annotated[str, Parameter(help="Only in this conversation.")] = "",
    representation: Annotated[str, Parameter(help="Whose units are searched.")] = "chunks",
    plan: Annotated[str, Parameter(help="hybrid, dense, lexical or rrf.")] = "hybrid",
    embedding: EmbedderSettings,
    k: Annotated[int, Parameter(help="How many units.")] = 5,
    models: ModelSettings,
    read: ReadSettings,
) -> None:
    """Rank the units of a corpus, or of one conversation, for a text."""
    from memlake.transforms.evaluate.search import SearchSettings
    from memlake.transforms.evaluate.search import search as find

    found = find(
        SearchSettings(
            lake=read.lake,
            text=text,
            corpus=corpus,
            representation=representation,
            plan=plan,
            embedder=embedding.embedder,
            k=k,
            conversation=conversation,
            at=read.at,
            models=models,
        )
    )
    if found.without_units:
        output.note(
            f"{found.without_units:,} of {found.conversations:,} conversations of corpus={corpus} have no units of "
            f"representation={representation}, and were not searched"
        )
    if output.document(found.rows):
        return
    shown = ("rank", "score", "dense", "lexical", "conversation_id", "show_text")
    table.show_rows([{name: row[name] for name in shown} for row in found.rows], max_cell=SHOWN_CHARS)
