-- Mean of every metric, by category and over all of them, with n, how many were not scored, and how many by reason.
-- Categories are those at the time of scoring, so that whatever became of a question since, it is counted.
-- grain: a metric of a cell at one cutoff, under one label set and judge, for one category (null: every category)
-- reads: scores
create or replace temp view score_means as
select
    scores.run_id,
    scores.cell,
    scores.corpus,
    scores.metric,
    scores.cutoff_kind,
    scores.cutoff,
    scores.label_set,
    scores.judge,
    scores.category,
    avg(scores.value) as mean,
    count(scores.value) as n,
    count(*) - count(scores.value) as excluded,
    histogram(scores.reason) filter (where scores.value is null) as reasons
from scores
group by grouping sets (
    (
        scores.run_id, scores.cell, scores.corpus, scores.metric, scores.cutoff_kind, scores.cutoff,
        scores.label_set, scores.judge, scores.category
    ),
    (
        scores.run_id, scores.cell, scores.corpus, scores.metric, scores.cutoff_kind, scores.cutoff,
        scores.label_set, scores.judge
    )
);
