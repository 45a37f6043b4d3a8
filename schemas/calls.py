"""calls: requests to language models."""

from memlake.schemas.table import BOOL, FLOAT, INT, STRING, TIME, Table, column

CALLS = Table(
    name="calls",
    grain="an attempt of a request to a model",
    key=("call_id", "attempt"),
    journal=True,
    columns=(
        column("call_id", STRING, "the call"),
        column("attempt", INT, "which attempt, from 0"),
        column("request_hash", STRING, "128-bit blake2b of provider, model, request, schema and seed"),
        column("run_id", STRING, "the run that asked"),
        column("cell", STRING, "the cell that asked; '' outside a study"),
        column("stage", STRING, "extract, embed, answer or judge"),
        column("provider", STRING, "whose server, by the host of its address or as named in the settings", later=True),
        column("model", STRING, "the model"),
        column("tokens_in", INT, "tokens of the request, as the server counts", null=True),
        column("tokens_out", INT, "tokens of the reply, as the server counts", null=True),
        column("tokens_cached", INT, "tokens of the request that the server had cached", null=True),
        column("price_usd", FLOAT, "price in US dollars by the dated price table", null=True),
        column("latency_s", FLOAT, "seconds from request to the end of the reply", null=True),
        column(
            "mode",
            STRING,
            "json_schema, json_object, text: how the reply was held to its form; '' for embeddings",
            later=True,
        ),
        column("from_cache", BOOL, "whether the reply came from our cache, unpaid"),
        column("outcome", STRING, "ok, cut, refused, filtered, too_long, rejected, transient, missing or fatal"),
        column("detail", STRING, "what the server said when there was no reply", later=True),
        column("logged_at", TIME, "when the attempt ended"),
    ),
)
