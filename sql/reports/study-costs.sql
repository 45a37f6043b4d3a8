-- What a study's memories cost: tokens and US dollars of writing and reading, per 1,000 correct answers, and amortised.
-- grain: a cost of one cell at one cutoff, for a judge where answers are counted
-- reads: statistics, latest_study
-- param: run_id: optional, the run (cells.run_id); the latest study by default
-- no rows: this snapshot holds no costs of a study; memlake study ls says which runs there are
select
    statistics.corpus,
    statistics.cell_a as cell,
    statistics.cutoff_kind,
    statistics.cutoff,
    statistics.statistic,
    statistics.label_set,
    statistics.judge,
    statistics.value,
    statistics.low,
    statistics.high,
    statistics.n,
    statistics.excluded_a as excluded,
    statistics.clusters,
    statistics.method,
    statistics.note
from statistics
cross join latest_study
where
    statistics.run_id = coalesce(cast($run_id as varchar), latest_study.run_id)
    and regexp_matches(statistics.statistic, '^(usd|tokens|seconds)_')
order by
    statistics.corpus,
    statistics.cutoff_kind,
    statistics.cutoff,
    statistics.statistic,
    statistics.label_set,
    statistics.judge,
    statistics.cell_a;
