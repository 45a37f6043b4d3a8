-- Where the ranked lists have the units that touch a gold turn of their question.
-- grain: a unit at a rank, for a question in a cell
-- reads: retrievals, browsed_gold, browsed_touching
-- param: run_id: the run
with gold as (
    select
        browsed_gold.corpus,
        browsed_gold.question_id,
        browsed_touching.representation,
        browsed_touching.unit_id
    from browsed_gold
    inner join browsed_touching
        on
            browsed_gold.corpus = browsed_touching.corpus
            and browsed_gold.conversation_id = browsed_touching.conversation_id
            and browsed_gold.ordinal = browsed_touching.ordinal
)

select
    retrievals.cell,
    retrievals.corpus,
    retrievals.question_id,
    retrievals.representation,
    retrievals.unit_id,
    retrievals.rank
from retrievals
semi join gold
    on
        retrievals.corpus = gold.corpus
        and retrievals.question_id = gold.question_id
        and retrievals.representation = gold.representation
        and retrievals.unit_id = gold.unit_id
where retrievals.run_id = $run_id
order by retrievals.corpus, retrievals.question_id, retrievals.cell, retrievals.rank;
