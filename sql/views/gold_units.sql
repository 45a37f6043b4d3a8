-- The units that touch the text of a gold turn.
-- grain: a unit and a gold turn that it touches, of a question under one label set
-- reads: gold_turns, provenance
create or replace temp view gold_units as
select distinct
    gold_turns.corpus,
    gold_turns.conversation_id,
    gold_turns.question_id,
    gold_turns.label_set,
    gold_turns.ordinal,
    provenance.representation,
    provenance.unit_id
from gold_turns
inner join provenance
    on
        gold_turns.corpus = provenance.corpus
        and gold_turns.conversation_id = provenance.conversation_id
        and gold_turns.ordinal = provenance.ordinal
where provenance.touches_text;
