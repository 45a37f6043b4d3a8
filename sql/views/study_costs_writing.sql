-- What it cost to write a representation with a model. A piece knows its tokens, its requests' prices only the journal:
-- what a run paid one model for extraction is shared among the pieces whose last request it sent, by their tokens.
-- A representation that was alone in its runs has them to the cent; failed attempts and second passes are in it.
-- grain: a conversation of a corpus in one representation that asks a model
-- reads: extractions, study_costs_requests
create or replace temp view study_costs_writing as
with pieces as (
    select
        extractions.corpus,
        extractions.representation,
        extractions.conversation_id,
        extractions.piece,
        extractions.calls,
        extractions.tokens_in,
        extractions.tokens_out,
        extractions.request_hash,
        study_costs_requests.run_id,
        study_costs_requests.model,
        coalesce(extractions.tokens_in, 0) + coalesce(extractions.tokens_out, 0) as tokens
    from extractions
    left join study_costs_requests on extractions.request_hash = study_costs_requests.request_hash
),

spent as (
    select
        study_costs_requests.run_id,
        study_costs_requests.model,
        -- One unknown price makes the sum unknown.
        case when count(*) = count(study_costs_requests.usd) then sum(study_costs_requests.usd) end as usd
    from study_costs_requests
    where study_costs_requests.stage = 'extract' and study_costs_requests.run_id is not null
    group by study_costs_requests.run_id, study_costs_requests.model
),

-- The same request under two corpora was paid once, and each of them bears its price.
asked_once as (
    select
        pieces.run_id,
        pieces.model,
        pieces.request_hash,
        max(pieces.tokens) as tokens
    from pieces
    where pieces.run_id is not null
    group by pieces.run_id, pieces.model, pieces.request_hash
),

rates as (
    select
        asked_once.run_id,
        asked_once.model,
        any_value(spent.usd) / nullif(sum(asked_once.tokens), 0) as usd_per_token
    from asked_once
    inner join spent on asked_once.run_id = spent.run_id and asked_once.model = spent.model
    group by asked_once.run_id, asked_once.model
),

priced as (
    select
        pieces.corpus,
        pieces.representation,
        pieces.conversation_id,
        pieces.calls,
        pieces.tokens_in,
        pieces.tokens_out,
        case when pieces.request_hash is null then 0 else pieces.tokens * rates.usd_per_token end as usd
    from pieces
    left join rates on pieces.run_id = rates.run_id and pieces.model = rates.model
)

select
    priced.corpus,
    priced.representation,
    priced.conversation_id,
    cast(sum(priced.calls) as bigint) as calls,
    cast(sum(priced.tokens_in) as bigint) as tokens_in,
    cast(sum(priced.tokens_out) as bigint) as tokens_out,
    case when count(*) = count(priced.usd) then sum(priced.usd) end as usd
from priced
group by priced.corpus, priced.representation, priced.conversation_id;
