-- Answers that survive in a store and in its contexts, by category: share of questions with every answer token present.
-- grain: a category of a cell at one cutoff (none: the store itself), under one label set
-- reads: scores
create or replace temp view survival_by_category as
select
    scores.run_id,
    scores.cell,
    scores.corpus,
    scores.label_set,
    scores.category,
    scores.cutoff_kind,
    scores.cutoff,
    avg(scores.value) filter (where scores.metric like '%_all') as survival_all,
    avg(scores.value) filter (where scores.metric like '%_share') as survival_share,
    count(scores.value) filter (where scores.metric like '%_all') as n,
    count(*) filter (where scores.metric like '%_all' and scores.value is null) as excluded
from scores
where
    scores.metric in (
        'answer_survival_all', 'answer_survival_share', 'store_survival_all', 'store_survival_share'
    )
group by
    scores.run_id,
    scores.cell,
    scores.corpus,
    scores.label_set,
    scores.category,
    scores.cutoff_kind,
    scores.cutoff;
