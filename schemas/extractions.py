"""extractions: what came of every piece of a conversation that a model was asked to represent."""

from memlake.schemas.table import INT, STRING, Table, column

EXTRACTIONS = Table(
    name="extractions",
    grain="a piece of a conversation that was to be represented by a model, and what came of it",
    key=("corpus", "representation", "conversation_id", "piece"),
    partition_by=("corpus", "representation"),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation"),
        column("representation", STRING, "the representation that was to be made"),
        column("piece", INT, "the piece's place in the conversation, from 0; pieces cover every turn"),
        column("session_id", STRING, "the session that it lies in; null when it spans several", null=True),
        column("first_ordinal", INT, "ordinal of its first turn"),
        column("last_ordinal", INT, "ordinal of its last turn"),
        column("outcome", STRING, "extracted, empty (the model found nothing, or there was no text) or failed"),
        column("reason", STRING, "why it failed: refused, filtered, too_long, invalid, cut, transient, ...", null=True),
        column("units", INT, "units that came of it"),
        column("calls", INT, "requests that it took, cached ones too: splits, repairs and second passes among them"),
        column("mode", STRING, "json_schema, json_object or text: how the reply was held to its form", null=True),
        column("splits", INT, "how often its text was cut in two because a reply or the input was too long"),
        column("repairs", INT, "how often a reply that was no valid JSON was asked for again"),
        column("duplicates", INT, "items that repeated another of the same piece and were merged into it"),
        column("dropped", INT, "items that broke the schema and could not be kept"),
        column("exact", INT, "units whose quote stands in the source to the character"),
        column("normalised", INT, "units whose quote stands there but for case, spaces and signs"),
        column("fuzzy", INT, "units whose quote stands there nearly"),
        column("ungrounded", INT, "units without a quote that is there"),
        column("tokens_in", INT, "tokens of the requests, as the server counted", null=True),
        column("tokens_out", INT, "tokens of the replies, as the server counted", null=True),
        column("source_chars", INT, "code points of the piece's turns"),
        column("stored_chars", INT, "code points of the units' show_text without headers"),
        column("request_hash", STRING, "the last request, by which the raw reply is found in the cache", null=True),
    ),
)
