-- What each request to a model cost when it was really sent, however often the cache has answered it since.
-- usd is null where it was never sent from this lake, or its price or tokens are not known.
-- grain: a request
-- reads: calls
create or replace temp view study_costs_requests as
with last_words as (
    select
        calls.request_hash,
        arg_min(
            {
                'run_id': calls.run_id,
                'tokens_in': calls.tokens_in,
                'tokens_out': calls.tokens_out,
                'usd': calls.price_usd,
                'seconds': calls.latency_s
            },
            -- A form of asking that the server refused was followed by another; the first one that it took counts.
            {
                'refused': calls.outcome in ('rejected', 'too_long'),
                'logged_at': calls.logged_at,
                'call_id': calls.call_id,
                'attempt': calls.attempt
            }
        ) filter (where not calls.from_cache and calls.outcome not in ('transient', 'fatal', 'missing')) as sent,
        max(calls.stage) as stage,
        max(calls.provider) as provider,
        max(calls.model) as model,
        -- What is only known from the cache has its tokens all the same.
        max(calls.tokens_in) as tokens_in,
        max(calls.tokens_out) as tokens_out
    from calls
    group by calls.request_hash
)

select
    last_words.request_hash,
    last_words.stage,
    last_words.provider,
    last_words.model,
    last_words.sent.run_id,
    coalesce(last_words.sent.tokens_in, last_words.tokens_in) as tokens_in,
    coalesce(last_words.sent.tokens_out, last_words.tokens_out) as tokens_out,
    last_words.sent.usd,
    last_words.sent.seconds
from last_words;
