-- Mean of every metric, by category and over all of them, with n, how many were not scored, and how many by reason.
-- A question counts once: its repeats are averaged first, over those that were scored.
-- Categories are those at the time of scoring, so that whatever became of a question since, it is counted.
-- grain: a metric of a cell at one cutoff, under one label set and judge, for one category (null: every category)
-- reads: scores
create or replace temp view score_means as
with questions_scored as (
    select
        scores.run_id,
        scores.cell,
        scores.corpus,
        scores.question_id,
        scores.metric,
        scores.cutoff_kind,
        scores.cutoff,
        scores.label_set,
        scores.judge,
        scores.category,
        avg(scores.value) as value,
        case when count(scores.value) = 0 then arg_min(scores.reason, scores.repeat) end as reason
    from scores
    group by
        scores.run_id,
        scores.cell,
        scores.corpus,
        scores.question_id,
        scores.metric,
        scores.cutoff_kind,
        scores.cutoff,
        scores.label_set,
        scores.judge,
        scores.category
)

select
    questions_scored.run_id,
    questions_scored.cell,
    questions_scored.corpus,
    questions_scored.metric,
    questions_scored.cutoff_kind,
    questions_scored.cutoff,
    questions_scored.label_set,
    questions_scored.judge,
    questions_scored.category,
    avg(questions_scored.value) as mean,
    count(questions_scored.value) as n,
    count(*) - count(questions_scored.value) as excluded,
    histogram(questions_scored.reason) filter (where questions_scored.value is null) as reasons
from questions_scored
group by grouping sets (
    (
        questions_scored.run_id, questions_scored.cell, questions_scored.corpus, questions_scored.metric,
        questions_scored.cutoff_kind, questions_scored.cutoff, questions_scored.label_set, questions_scored.judge,
        questions_scored.category
    ),
    (
        questions_scored.run_id, questions_scored.cell, questions_scored.corpus, questions_scored.metric,
        questions_scored.cutoff_kind, questions_scored.cutoff, questions_scored.label_set, questions_scored.judge
    )
);
