-- Mean of every metric, by category and over all of them, with n, how many were not scored, and how many by reason.
-- grain: a metric of a cell at one cutoff, under one label set and judge, for one category (null: every category)
-- reads: scores, questions
create or replace temp view score_means as
with labelled as (
    select
        scores.run_id,
        scores.cell,
        scores.corpus,
        scores.metric,
        scores.cutoff_kind,
        scores.cutoff,
        scores.label_set,
        scores.judge,
        scores.value,
        scores.reason,
        questions.category
    from scores
    inner join questions
        on
            scores.corpus = questions.corpus
            and scores.question_id = questions.question_id
            and scores.label_set = questions.label_set
)

select
    labelled.run_id,
    labelled.cell,
    labelled.corpus,
    labelled.metric,
    labelled.cutoff_kind,
    labelled.cutoff,
    labelled.label_set,
    labelled.judge,
    labelled.category,
    avg(labelled.value) as mean,
    count(labelled.value) as n,
    count(*) - count(labelled.value) as excluded,
    histogram(labelled.reason) filter (where labelled.value is null) as reasons
from labelled
group by grouping sets (
    (
        labelled.run_id, labelled.cell, labelled.corpus, labelled.metric, labelled.cutoff_kind, labelled.cutoff,
        labelled.label_set, labelled.judge, labelled.category
    ),
    (
        labelled.run_id, labelled.cell, labelled.corpus, labelled.metric, labelled.cutoff_kind, labelled.cutoff,
        labelled.label_set, labelled.judge
    )
);
