-- What it cost to write and embed all that a cell searches of each conversation that it was asked about.
-- usd is null where a price is not known, or units were supplied by others at their own cost.
-- grain: a conversation in a cell
-- reads: searched, contexts, conversations, representations, study_costs_embedding, study_costs_writing
-- param: run_id: the run
with asked as (
    select distinct
        contexts.corpus,
        contexts.cell,
        contexts.conversation_id
    from contexts
    where contexts.run_id = $run_id
),

supplied as (
    select distinct representations.representation
    from representations
    where representations.kind = 'supplied'
),

whole as (
    select
        conversations.corpus,
        count(*) as conversations
    from conversations
    group by conversations.corpus
),

-- Of one conversation: the requests hold texts of many.
embedded as (
    select
        searched.corpus,
        searched.cell,
        case
            when count(*) = count(study_costs_embedding.usd)
                then sum(study_costs_embedding.usd) / any_value(whole.conversations)
        end as usd
    from searched
    inner join whole on searched.corpus = whole.corpus
    left join study_costs_embedding
        on
            searched.corpus = study_costs_embedding.corpus
            and searched.representation = study_costs_embedding.representation
            and searched.embedder = study_costs_embedding.embedder
    where searched.run_id = $run_id and starts_with(searched.embedder, 'openai:')
    group by searched.corpus, searched.cell
),

written as (
    select
        asked.corpus,
        asked.cell,
        asked.conversation_id,
        sum(study_costs_writing.tokens_in) as tokens_in,
        sum(study_costs_writing.tokens_out) as tokens_out,
        sum(study_costs_writing.usd) as usd,
        count(study_costs_writing.representation) as by_model,
        count(study_costs_writing.usd) as priced,
        count(supplied.representation) as supplied,
        starts_with(any_value(searched.embedder), 'openai:') as embeds_by_model
    from asked
    inner join searched on asked.corpus = searched.corpus and asked.cell = searched.cell
    left join supplied on searched.representation = supplied.representation
    left join study_costs_writing
        on
            searched.corpus = study_costs_writing.corpus
            and searched.representation = study_costs_writing.representation
            and asked.conversation_id = study_costs_writing.conversation_id
    where searched.run_id = $run_id
    group by asked.corpus, asked.cell, asked.conversation_id
)

select
    written.corpus,
    written.cell,
    written.conversation_id,
    written.tokens_in,
    written.tokens_out,
    written.supplied > 0 as supplied,
    written.by_model > 0 or written.embeds_by_model as by_model,
    case
        when written.supplied > 0 or written.priced < written.by_model then null
        when written.embeds_by_model then coalesce(written.usd, 0) + embedded.usd
        else coalesce(written.usd, 0)
    end as usd
from written
left join embedded on written.corpus = embedded.corpus and written.cell = embedded.cell;
