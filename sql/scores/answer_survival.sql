-- Of the answer's content tokens: which share is, is every one among the content tokens of the context.
-- grain: a metric of a question in a cell at one cutoff, under one label set
-- reads: contexts, questions
-- param: run_id: the run to score
with counted as (
    select
        contexts.run_id,
        contexts.cell,
        contexts.corpus,
        contexts.conversation_id,
        contexts.question_id,
        contexts.cutoff_kind,
        contexts.cutoff,
        questions.label_set,
        questions.category,
        case
            when not questions.answerable then 'unanswerable'
            when len(questions.answer_tokens) = 0 then 'no_content_tokens'
        end as reason,
        len(questions.answer_tokens) as wanted,
        tokens_found(questions.answer_tokens, contexts.content_tokens) as found
    from contexts
    inner join questions on contexts.corpus = questions.corpus and contexts.question_id = questions.question_id
    where contexts.run_id = $run_id and contexts.cutoff_kind <> 'candidates'
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
