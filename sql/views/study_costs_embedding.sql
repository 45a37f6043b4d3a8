-- What it cost to embed a representation over HTTP. A request holds texts of any of them, so what the runs on a corpus
-- paid is shared among its stored representations by the characters of their keys. A study's own runs embed questions.
-- grain: a representation of a corpus under one embedder that asks a server
-- reads: calls, runs, units
create or replace temp view study_costs_embedding as
with made as (
    select distinct
        runs.run_id,
        runs.settings ->> '$.corpus' as corpus
    from runs
    where runs.event = 'started' and runs.flow <> 'study'
),

spent as (
    select
        made.corpus,
        'openai:' || calls.model as embedder,
        sum(calls.tokens_in) as tokens,
        case when count(*) = count(calls.price_usd) then sum(calls.price_usd) end as usd
    from calls
    inner join made on calls.run_id = made.run_id
    where
        calls.stage = 'embed'
        and not calls.from_cache
        and calls.outcome not in ('transient', 'fatal', 'missing')
    group by made.corpus, calls.model
),

stored as (
    select
        units.corpus,
        units.representation,
        sum(length(units.key_text)) as characters
    from units
    group by units.corpus, units.representation
)

select
    stored.corpus,
    stored.representation,
    spent.embedder,
    spent.tokens * stored.characters / sum(stored.characters) over of_corpus as tokens,
    spent.usd * stored.characters / sum(stored.characters) over of_corpus as usd
from stored
inner join spent on stored.corpus = spent.corpus
window of_corpus as (partition by stored.corpus, spent.embedder);
