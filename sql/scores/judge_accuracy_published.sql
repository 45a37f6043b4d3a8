-- Judge accuracy as the published comparison counted it, to reproduce its number and for nothing else: where the judge
-- failed, token F1 of 0.5 or more made an answer correct, and on LongMemEval a failure made it incorrect.
-- Only for judges that ask a model. An answer that the reader failed to give is left out here too.
-- grain: an answer for one judge under one label set, over the judge's repeats
-- reads: judgements, judged_answers, text_scores
-- param: run_id: the run to score
with asking as (
    select distinct judgements.judge
    from judgements
    where judgements.run_id = $run_id and judgements.request_hash is not null
),

decided as (
    select
        judged_answers.run_id,
        judged_answers.cell,
        judged_answers.corpus,
        judged_answers.conversation_id,
        judged_answers.question_id,
        judged_answers.cutoff_kind,
        judged_answers.cutoff,
        judged_answers.repeat,
        judged_answers.label_set,
        judged_answers.category,
        judged_answers.judge,
        judged_answers.judge_repeat,
        judged_answers.reason,
        case
            when judged_answers.text is null then null
            when judged_answers.correct is not null then judged_answers.correct
            when judged_answers.format = 'longmemeval' then false
            else text_scores.value >= 0.5
        end as correct
    from judged_answers
    semi join asking on judged_answers.judge = asking.judge
    left join text_scores
        on
            judged_answers.run_id = text_scores.run_id
            and judged_answers.cell = text_scores.cell
            and judged_answers.corpus = text_scores.corpus
            and judged_answers.question_id = text_scores.question_id
            and judged_answers.cutoff_kind = text_scores.cutoff_kind
            and judged_answers.cutoff = text_scores.cutoff
            and judged_answers.repeat = text_scores.repeat
            and judged_answers.label_set = text_scores.label_set
            and text_scores.metric = 'token_f1_plain'
    where judged_answers.run_id = $run_id
)

select
    decided.run_id,
    decided.cell,
    decided.corpus,
    decided.conversation_id,
    decided.question_id,
    decided.cutoff_kind,
    decided.cutoff,
    decided.repeat,
    'judge_accuracy_published' as metric,
    decided.label_set,
    decided.category,
    decided.judge,
    avg(cast(decided.correct as double)) as value,
    case
        when count(decided.correct) = 0 then coalesce(arg_min(decided.reason, decided.judge_repeat), 'no_verdict')
    end as reason
from decided
group by
    decided.run_id,
    decided.cell,
    decided.corpus,
    decided.conversation_id,
    decided.question_id,
    decided.cutoff_kind,
    decided.cutoff,
    decided.repeat,
    decided.label_set,
    decided.category,
    decided.judge;
