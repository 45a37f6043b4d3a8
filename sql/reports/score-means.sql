-- Mean of every metric of a study's run by corpus, cell, cutoff and category, with n and what was excluded.
-- grain: a metric of a cell at one cutoff, under one label set and judge, for one category (null: every category)
-- reads: score_means, latest_study
-- param: run_id: optional, the run (cells.run_id); the latest study by default
-- no rows: this snapshot holds no scores of a study; memlake study ls says which runs there are
select
    score_means.corpus,
    score_means.cell,
    score_means.metric,
    score_means.cutoff_kind,
    score_means.cutoff,
    score_means.label_set,
    score_means.judge,
    score_means.category,
    score_means.mean,
    score_means.n,
    score_means.excluded,
    score_means.reasons
from score_means
cross join latest_study
where score_means.run_id = coalesce(cast($run_id as varchar), latest_study.run_id)
order by
    score_means.corpus,
    score_means.label_set,
    score_means.judge,
    score_means.metric,
    score_means.cutoff_kind,
    score_means.cutoff,
    score_means.category nulls first,
    score_means.cell;
