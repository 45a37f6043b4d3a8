-- How often each question was answered correctly, and what one answer to it cost; means over repeats. `correct` is null
-- where no verdict came, `usd` where the price is not known: every question that a model was asked has a row.
-- grain: a question in a cell at one cutoff, for one judge, under one label set
-- reads: scores, study_costs_answers
-- param: run_id: the run
with answered as (
    select
        study_costs_answers.corpus,
        study_costs_answers.cell,
        study_costs_answers.cutoff_kind,
        study_costs_answers.cutoff,
        study_costs_answers.question_id,
        avg(study_costs_answers.usd) as usd
    from study_costs_answers
    where study_costs_answers.run_id = $run_id
    group by
        study_costs_answers.corpus,
        study_costs_answers.cell,
        study_costs_answers.cutoff_kind,
        study_costs_answers.cutoff,
        study_costs_answers.question_id
),

asking as (
    select distinct
        answered.corpus,
        answered.cell,
        answered.cutoff_kind,
        answered.cutoff
    from answered
)

select
    scores.corpus,
    scores.cell,
    scores.cutoff_kind,
    scores.cutoff,
    scores.judge,
    scores.label_set,
    scores.conversation_id,
    scores.question_id,
    avg(scores.value) as correct,
    any_value(answered.usd) as usd
from scores
semi join asking
    on
        scores.corpus = asking.corpus
        and scores.cell = asking.cell
        and scores.cutoff_kind = asking.cutoff_kind
        and scores.cutoff = asking.cutoff
left join answered
    on
        scores.corpus = answered.corpus
        and scores.cell = answered.cell
        and scores.cutoff_kind = answered.cutoff_kind
        and scores.cutoff = answered.cutoff
        and scores.question_id = answered.question_id
where scores.run_id = $run_id and scores.metric = 'judge_accuracy'
group by
    scores.corpus,
    scores.cell,
    scores.cutoff_kind,
    scores.cutoff,
    scores.judge,
    scores.label_set,
    scores.conversation_id,
    scores.question_id;
