-- Contexts that show nothing although the plan packs something: the first unit is longer than the budget, or there is
-- none.
-- grain: a cell at one token budget that has such contexts
-- reads: contexts, cells
create or replace temp view empty_contexts as
select
    contexts.run_id,
    contexts.corpus,
    contexts.cell,
    contexts.cutoff,
    count(*) filter (where contexts.units = 0) as empty,
    count(*) as contexts
from contexts
inner join cells
    on contexts.run_id = cells.run_id and contexts.corpus = cells.corpus and contexts.cell = cells.cell
where
    contexts.cutoff_kind = 'tokens'
    and not cells.plan like '%"most":0%'
group by contexts.run_id, contexts.corpus, contexts.cell, contexts.cutoff
having count(*) filter (where contexts.units = 0) > 0;
