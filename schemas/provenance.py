"""provenance: where a unit came from, one row a turn that it touches."""

from memlake.schemas.table import BOOL, INT, STRING, Table, column

PROVENANCE = Table(
    name="provenance",
    grain="a piece of a unit's source, one row a turn that it touches",
    key=("corpus", "representation", "unit_id", "piece"),
    partition_by=("corpus", "representation"),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation of the unit"),
        column("representation", STRING, "the representation of the unit"),
        column("unit_id", STRING, "the unit"),
        column("piece", INT, "the piece's place in the unit, from 0"),
        column("turn_id", STRING, "the turn that it touches"),
        column("ordinal", INT, "that turn's place in the conversation"),
        column(
            "char_start", INT, "first code point in the canonical text; null when only the turn is known", null=True
        ),
        column("char_end", INT, "one past the last code point; null when only the turn is known", null=True),
        column("grounding", STRING, "exact, normalised, fuzzy or none: how the piece was found in the source"),
        column("touches_text", BOOL, "false when only the speaker prefix or the line break is touched"),
    ),
)
