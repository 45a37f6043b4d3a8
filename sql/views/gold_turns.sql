-- The turns that a question's evidence points at; malformed and dangling ids point at none, a repeated id counts once.
-- grain: a gold turn of a question under one label set
-- reads: evidence
create or replace temp view gold_turns as
select distinct
    evidence.corpus,
    evidence.conversation_id,
    evidence.question_id,
    evidence.label_set,
    evidence.turn_id,
    evidence.ordinal
from evidence
where
    evidence.status in ('valid', 'normalised')
    and evidence.turn_id is not null
    and evidence.ordinal is not null;
