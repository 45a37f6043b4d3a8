-- Judge accuracy as the published comparison counted it, to reproduce its number and for nothing else: where the judge
-- failed, token F1 of 0.5 or more made an answer correct, and on LongMemEval a failure made it incorrect.
-- Only for judges that ask a model. An answer that the reader failed to give is left out here too.
-- grain: an answer for one judge under one label set, over the judge's repeats
-- reads: judgements, labelled_answers, text_scores
-- param: run_id: the run to score
with asking as (
    select distinct judgements.judge
    from judgements
    where judgements.run_id = $run_id and judgements.request_hash is not null
),

decided as (
    select
        labelled_answers.run_id,
        labelled_answers.cell,
        labelled_answers.corpus,
        labelled_answers.conversation_id,
        labelled_answers.question_id,
        labelled_answers.cutoff_kind,
        labelled_answers.cutoff,
        labelled_answers.repeat,
        labelled_answers.label_set,
        labelled_answers.category,
        judgements.judge,
        judgements.judge_repeat,
        judgements.reason,
        case
            when labelled_answers.text is null then null
            when judgements.correct is not null then judgements.correct
            when labelled_answers.format = 'longmemeval' then false
            else text_scores.value >= 0.5
        end as correct
    from labelled_answers
    inner join judgements
        on
            labelled_answers.run_id = judgements.run_id
            and labelled_answers.cell = judgements.cell
            and labelled_answers.corpus = judgements.corpus
            and labelled_answers.question_id = judgements.question_id
            and labelled_answers.cutoff_kind = judgements.cutoff_kind
            and labelled_answers.cutoff = judgements.cutoff
            and labelled_answers.repeat = judgements.repeat
            and labelled_answers.label_set = judgements.label_set
    semi join asking on judgements.judge = asking.judge
    left join text_scores
        on
            labelled_answers.run_id = text_scores.run_id
            and labelled_answers.cell = text_scores.cell
            and labelled_answers.corpus = text_scores.corpus
            and labelled_answers.question_id = text_scores.question_id
            and labelled_answers.cutoff_kind = text_scores.cutoff_kind
            and labelled_answers.cutoff = text_scores.cutoff
            and labelled_answers.repeat = text_scores.repeat
            and labelled_answers.label_set = text_scores.label_set
            and text_scores.metric = 'token_f1_plain'
    where labelled_answers.run_id = $run_id
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
