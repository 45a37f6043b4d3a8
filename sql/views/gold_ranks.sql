-- Where in a ranked list the gold stands: each rank whose unit touches the text of a gold turn, with that turn.
-- grain: a gold turn that the unit at one rank touches, for a question in a cell, under one label set
-- reads: retrievals, gold_units
create or replace temp view gold_ranks as
select
    retrievals.run_id,
    retrievals.cell,
    retrievals.corpus,
    retrievals.question_id,
    gold_units.label_set,
    gold_units.ordinal,
    retrievals.rank
from retrievals
inner join gold_units
    on
        retrievals.corpus = gold_units.corpus
        and retrievals.question_id = gold_units.question_id
        and retrievals.representation = gold_units.representation
        and retrievals.unit_id = gold_units.unit_id;
