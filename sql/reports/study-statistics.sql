-- Means, comparisons with intervals and tests, agreement of judges, spread between repeats: what a study's scores say.
-- grain: a statistic of one metric over one cell, or between two cells, on one slice of questions
-- reads: statistics, latest_study
-- param: run_id: optional, the run (cells.run_id); the latest study by default
-- param: statistic: optional, one of them, such as difference; all but costs by default
-- param: metric: optional, one metric; all by default
-- param: slice: optional, all or category=NAME; all questions by default
-- no rows: this snapshot holds no statistics of a study; memlake study ls says which runs there are
select
    statistics.corpus,
    statistics.statistic,
    statistics.comparison,
    statistics.cell_a,
    statistics.cell_b,
    statistics.metric,
    statistics.cutoff_kind,
    statistics.cutoff,
    statistics.label_set,
    statistics.judge,
    statistics.slice,
    statistics.value,
    statistics.low,
    statistics.high,
    statistics.p,
    statistics.p_holm,
    statistics.detectable,
    statistics.only_a,
    statistics.only_b,
    statistics.n,
    statistics.excluded_a,
    statistics.excluded_b,
    statistics.clusters,
    statistics.note
from statistics
cross join latest_study
where
    statistics.run_id = coalesce(cast($run_id as varchar), latest_study.run_id)
    and statistics.statistic = coalesce(cast($statistic as varchar), statistics.statistic)
    and statistics.metric = coalesce(cast($metric as varchar), statistics.metric)
    and statistics.slice = coalesce(cast($slice as varchar), 'all')
    and (
        cast($statistic as varchar) is not null
        or not regexp_matches(statistics.statistic, '^(usd|tokens|seconds)_')
    )
order by
    statistics.corpus,
    statistics.statistic,
    statistics.label_set,
    statistics.judge,
    statistics.metric,
    statistics.cutoff_kind,
    statistics.cutoff,
    statistics.slice,
    statistics.comparison,
    statistics.cell_a,
    statistics.cell_b;
