-- Tokens and US dollars of the verdicts on each question, as the mean over repeats of answer and verdict.
-- grain: a question in a cell at one cutoff, for one judge that is a model, under one label set
-- reads: study_costs_judgements
-- param: run_id: the run
select
    study_costs_judgements.corpus,
    study_costs_judgements.cell,
    study_costs_judgements.cutoff_kind,
    study_costs_judgements.cutoff,
    study_costs_judgements.judge,
    study_costs_judgements.label_set,
    study_costs_judgements.conversation_id,
    study_costs_judgements.question_id,
    avg(study_costs_judgements.tokens_in + coalesce(study_costs_judgements.tokens_out, 0)) as tokens,
    avg(study_costs_judgements.usd) as usd
from study_costs_judgements
where study_costs_judgements.run_id = $run_id
group by
    study_costs_judgements.corpus,
    study_costs_judgements.cell,
    study_costs_judgements.cutoff_kind,
    study_costs_judgements.cutoff,
    study_costs_judgements.judge,
    study_costs_judgements.label_set,
    study_costs_judgements.conversation_id,
    study_costs_judgements.question_id;
