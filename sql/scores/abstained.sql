-- Whether an answer says that there is none to be found, and whether it says so just where there is none.
-- grain: a metric of an answer under one label set
-- reads: labelled_answers
-- param: run_id: the run to score
select
    labelled_answers.run_id,
    labelled_answers.cell,
    labelled_answers.corpus,
    labelled_answers.conversation_id,
    labelled_answers.question_id,
    labelled_answers.cutoff_kind,
    labelled_answers.cutoff,
    labelled_answers.repeat,
    metrics.metric,
    labelled_answers.label_set,
    labelled_answers.category,
    '' as judge,
    case
        when metrics.metric = 'abstained' then cast(labelled_answers.abstained as double)
        else cast(labelled_answers.abstained <> labelled_answers.answerable as double)
    end as value,
    case when labelled_answers.abstained is null then coalesce(labelled_answers.reason, 'no_answer') end as reason
from labelled_answers
cross join (values ('abstained'), ('abstention_right')) as metrics (metric)
where labelled_answers.run_id = $run_id;
