-- Share of a judge's verdicts on an answer that call it correct; a verdict that failed is neither right nor wrong.
-- grain: an answer for one judge under one label set, over the judge's repeats
-- reads: judgements, questions
-- param: run_id: the run to score
select
    judgements.run_id,
    judgements.cell,
    judgements.corpus,
    judgements.conversation_id,
    judgements.question_id,
    judgements.cutoff_kind,
    judgements.cutoff,
    judgements.repeat,
    'judge_accuracy' as metric,
    judgements.label_set,
    questions.category,
    judgements.judge,
    avg(cast(judgements.correct as double)) as value,
    case
        when count(judgements.correct) = 0
            then coalesce(arg_min(judgements.reason, judgements.judge_repeat), 'no_verdict')
    end as reason
from judgements
inner join questions
    on
        judgements.corpus = questions.corpus
        and judgements.question_id = questions.question_id
        and judgements.label_set = questions.label_set
where judgements.run_id = $run_id
group by
    judgements.run_id,
    judgements.cell,
    judgements.corpus,
    judgements.conversation_id,
    judgements.question_id,
    judgements.cutoff_kind,
    judgements.cutoff,
    judgements.repeat,
    judgements.label_set,
    questions.category,
    judgements.judge;
