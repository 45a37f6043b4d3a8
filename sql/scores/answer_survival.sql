-- Of the answer's content tokens: which share is, is every one among the content tokens of the context.
-- grain: a metric of a question in a cell at one cutoff, under one label set
-- reads: labelled_contexts
-- param: run_id: the run to score
with counted as (
    select
        labelled_contexts.run_id,
        labelled_contexts.cell,
        labelled_contexts.corpus,
        labelled_contexts.conversation_id,
        labelled_contexts.question_id,
        labelled_contexts.cutoff_kind,
        labelled_contexts.cutoff,
        labelled_contexts.label_set,
        labelled_contexts.category,
        case
            when not labelled_contexts.answerable then 'unanswerable'
            when len(labelled_contexts.answer_tokens) = 0 then 'no_content_tokens'
        end as reason,
        len(labelled_contexts.answer_tokens) as wanted,
        tokens_found(labelled_contexts.answer_tokens, labelled_contexts.content_tokens) as found
    from labelled_contexts
    where labelled_contexts.run_id = $run_id
)

select
    counted.run_id,
    counted.cell,
    counted.corpus,
    counted.conversation_id,
    counted.question_id,
    counted.cutoff_kind,
    counted.cutoff,
    0 as repeat,
    metrics.metric,
    counted.label_set,
    counted.category,
    '' as judge,
    case
        when counted.reason is not null then null
        when metrics.metric = 'answer_survival_all' then cast(counted.found = counted.wanted as double)
        else counted.found / counted.wanted
    end as value,
    counted.reason
from counted
cross join (values ('answer_survival_share'), ('answer_survival_all')) as metrics (metric);
