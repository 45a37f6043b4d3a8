-- Saying that there is no answer, as a classifier: precision, recall and F1 over unanswerable and answerable questions.
-- Every repeat of an answer counts; null where there is nothing to divide by.
-- grain: a cell at one cutoff, under one label set
-- reads: scores
create or replace temp view abstention as
with said as (
    select
        scores.run_id,
        scores.cell,
        scores.corpus,
        scores.question_id,
        scores.cutoff_kind,
        scores.cutoff,
        scores.repeat,
        scores.label_set,
        max(scores.value) filter (where scores.metric = 'abstained') = 1 as abstained,
        max(scores.value) filter (where scores.metric = 'abstention_right') = 1 as was_right
    from scores
    where scores.metric in ('abstained', 'abstention_right')
    group by
        scores.run_id,
        scores.cell,
        scores.corpus,
        scores.question_id,
        scores.cutoff_kind,
        scores.cutoff,
        scores.repeat,
        scores.label_set
),

counted as (
    select
        said.run_id,
        said.cell,
        said.corpus,
        said.cutoff_kind,
        said.cutoff,
        said.label_set,
        count(*) filter (where said.abstained and said.was_right) as rightly_abstained,
        count(*) filter (where said.abstained and not said.was_right) as wrongly_abstained,
        count(*) filter (where not said.abstained and not said.was_right) as failed_to_abstain,
        count(*) filter (where not said.abstained and said.was_right) as rightly_answered,
        count(*) filter (where said.abstained is null) as excluded
    from said
    group by said.run_id, said.cell, said.corpus, said.cutoff_kind, said.cutoff, said.label_set
)

select
    counted.run_id,
    counted.cell,
    counted.corpus,
    counted.cutoff_kind,
    counted.cutoff,
    counted.label_set,
    counted.rightly_abstained + counted.failed_to_abstain as unanswerable,
    counted.wrongly_abstained + counted.rightly_answered as answerable,
    counted.rightly_abstained,
    counted.wrongly_abstained,
    counted.excluded,
    counted.rightly_abstained
    / nullif(counted.rightly_abstained + counted.wrongly_abstained, 0) as abstention_precision,
    counted.rightly_abstained
    / nullif(counted.rightly_abstained + counted.failed_to_abstain, 0) as abstention_recall,
    2 * counted.rightly_abstained
    / nullif(2 * counted.rightly_abstained + counted.wrongly_abstained + counted.failed_to_abstain, 0) as abstention_f1
from counted;
