-- What reading cost: tokens, US dollars and seconds of each answer that a model gave.
-- grain: a reader's answer to a question in a cell at one cutoff
-- reads: answers, study_costs_requests
create or replace temp view study_costs_answers as
select
    answers.run_id,
    answers.cell,
    answers.corpus,
    answers.conversation_id,
    answers.question_id,
    answers.cutoff_kind,
    answers.cutoff,
    answers.repeat,
    study_costs_requests.model,
    study_costs_requests.tokens_in,
    study_costs_requests.tokens_out,
    study_costs_requests.usd,
    study_costs_requests.seconds
from answers
left join study_costs_requests on answers.request_hash = study_costs_requests.request_hash
where answers.request_hash is not null;
