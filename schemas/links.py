"""links: typed edges between units."""

from memlake.schemas.table import FLOAT, STRING, Table, column

LINKS = Table(
    name="links",
    grain="a typed edge from one unit to another of its conversation; readers follow it both ways",
    key=("corpus", "representation", "source_unit", "target_unit", "relation"),
    partition_by=("corpus", "representation"),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation of both units"),
        column("representation", STRING, "the representation of both units"),
        column("source_unit", STRING, "the unit that the edge leaves"),
        column("target_unit", STRING, "the unit that it reaches"),
        column("relation", STRING, "what the edge says; its name stands for the settings that it was made with"),
        column("description", STRING, "the relation in words, when there are any", null=True),
        column("weight", FLOAT, "strength, 1.0 when the relation has none"),
    ),
)
