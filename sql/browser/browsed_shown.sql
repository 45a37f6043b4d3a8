-- The units of each of these contexts, in order of rank.
-- grain: a question in a cell whose context has units
-- reads: retrievals, browsed_contexts
-- param: run_id: the run
select
    retrievals.cell,
    retrievals.corpus,
    retrievals.question_id,
    list(retrievals.representation order by retrievals.rank) as representations,
    list(retrievals.unit_id order by retrievals.rank) as unit_ids
from retrievals
inner join browsed_contexts
    on
        retrievals.cell = browsed_contexts.cell
        and retrievals.corpus = browsed_contexts.corpus
        and retrievals.question_id = browsed_contexts.question_id
where retrievals.run_id = $run_id and retrievals.rank <= browsed_contexts.units
group by retrievals.cell, retrievals.corpus, retrievals.question_id;
