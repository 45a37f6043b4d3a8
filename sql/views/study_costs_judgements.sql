-- What judging cost: tokens and US dollars of each verdict that a model gave. No part of what a memory costs.
-- grain: a verdict of one judge on one answer
-- reads: judgements, study_costs_requests
create or replace temp view study_costs_judgements as
select
    judgements.run_id,
    judgements.cell,
    judgements.corpus,
    judgements.conversation_id,
    judgements.question_id,
    judgements.cutoff_kind,
    judgements.cutoff,
    judgements.repeat,
    judgements.judge,
    judgements.label_set,
    judgements.judge_repeat,
    study_costs_requests.model,
    study_costs_requests.tokens_in,
    study_costs_requests.tokens_out,
    study_costs_requests.usd
from judgements
left join study_costs_requests on judgements.request_hash = study_costs_requests.request_hash
where judgements.request_hash is not null;
