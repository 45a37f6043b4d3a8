-- What a cell's representations kept at all: the answer's content tokens among those of every unit of its conversation.
-- grain: a metric of a question in a cell, under one label set
-- reads: contexts, questions, searched, unit_tokens
-- param: run_id: the run to score
with asked as (
    select distinct
        contexts.run_id,
        contexts.cell,
        contexts.corpus,
        contexts.conversation_id,
        contexts.question_id
    from contexts
    where contexts.run_id = $run_id
),

labelled as (
    select
        asked.run_id,
        asked.cell,
        asked.corpus,
        asked.conversation_id,
        asked.question_id,
        questions.label_set,
        questions.category,
        questions.answerable,
        questions.answer_tokens
    from asked
    inner join questions on asked.corpus = questions.corpus and asked.question_id = questions.question_id
),

wanted as (
    select distinct
        labelled.corpus,
        labelled.conversation_id,
        labelled.question_id,
        labelled.label_set,
        unnest(labelled.answer_tokens) as token
    from labelled
),

-- A token of an answer beside each representation that keeps it, before any cell: many cells search the same ones.
kept as (
    select
        wanted.corpus,
        wanted.question_id,
        wanted.label_set,
        wanted.token,
        unit_tokens.representation
    from wanted
    inner join unit_tokens
        on
            wanted.corpus = unit_tokens.corpus
            and wanted.conversation_id = unit_tokens.conversation_id
            and wanted.token = unit_tokens.token
),

found as (
    select
        searched.cell,
        kept.corpus,
        kept.question_id,
        kept.label_set,
        count(distinct kept.token) as tokens
    from kept
    inner join searched on kept.corpus = searched.corpus and kept.representation = searched.representation
    where searched.run_id = $run_id
    group by searched.cell, kept.corpus, kept.question_id, kept.label_set
),

counted as (
    select
        labelled.run_id,
        labelled.cell,
        labelled.corpus,
        labelled.conversation_id,
        labelled.question_id,
        labelled.label_set,
        labelled.category,
        case
            when not labelled.answerable then 'unanswerable'
            when len(labelled.answer_tokens) = 0 then 'no_content_tokens'
        end as reason,
        len(labelled.answer_tokens) as wanted,
        coalesce(found.tokens, 0) as found
    from labelled
    left join found
        on
            labelled.cell = found.cell
            and labelled.corpus = found.corpus
            and labelled.question_id = found.question_id
            and labelled.label_set = found.label_set
)

select
    counted.run_id,
    counted.cell,
    counted.corpus,
    counted.conversation_id,
    counted.question_id,
    'none' as cutoff_kind,
    0 as cutoff,
    0 as repeat,
    metrics.metric,
    counted.label_set,
    counted.category,
    '' as judge,
    case
        when counted.reason is not null then null
        when metrics.metric = 'store_survival_all' then cast(counted.found = counted.wanted as double)
        else counted.found / counted.wanted
    end as value,
    counted.reason
from counted
cross join (values ('store_survival_share'), ('store_survival_all')) as metrics (metric);
