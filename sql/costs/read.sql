-- Tokens and US dollars of the answers to each question, as the mean over their repeats.
-- grain: a question in a cell at one cutoff at which a model was asked
-- reads: study_costs_answers
-- param: run_id: the run
select
    study_costs_answers.corpus,
    study_costs_answers.cell,
    study_costs_answers.cutoff_kind,
    study_costs_answers.cutoff,
    study_costs_answers.conversation_id,
    study_costs_answers.question_id,
    avg(study_costs_answers.tokens_in) as tokens_in,
    avg(study_costs_answers.tokens_out) as tokens_out,
    avg(study_costs_answers.usd) as usd
from study_costs_answers
where study_costs_answers.run_id = $run_id
group by
    study_costs_answers.corpus,
    study_costs_answers.cell,
    study_costs_answers.cutoff_kind,
    study_costs_answers.cutoff,
    study_costs_answers.conversation_id,
    study_costs_answers.question_id;
