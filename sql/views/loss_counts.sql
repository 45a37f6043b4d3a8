-- Where the wrong answers of a cell were lost, by category and over all of them, and how many are disputed.
-- Every repeat of an answer and of a verdict counts; share is of all that this judge calls wrong.
-- grain: a loss of a cell at one cutoff, for one judge and label set, in one category (null: every category)
-- reads: losses
create or replace temp view loss_counts as
with counted as (
    select
        losses.run_id,
        losses.cell,
        losses.corpus,
        losses.cutoff_kind,
        losses.cutoff,
        losses.judge,
        losses.label_set,
        losses.category,
        losses.loss,
        count(*) as wrong,
        count(*) filter (where losses.judge_disputed) as disputed
    from losses
    group by grouping sets (
        (
            losses.run_id, losses.cell, losses.corpus, losses.cutoff_kind, losses.cutoff, losses.judge,
            losses.label_set, losses.loss, losses.category
        ),
        (
            losses.run_id, losses.cell, losses.corpus, losses.cutoff_kind, losses.cutoff, losses.judge,
            losses.label_set, losses.loss
        )
    )
)

select
    counted.run_id,
    counted.cell,
    counted.corpus,
    counted.cutoff_kind,
    counted.cutoff,
    counted.judge,
    counted.label_set,
    counted.category,
    counted.loss,
    counted.wrong,
    counted.disputed,
    counted.wrong / sum(counted.wrong) over (
        partition by
            counted.run_id,
            counted.cell,
            counted.corpus,
            counted.cutoff_kind,
            counted.cutoff,
            counted.judge,
            counted.label_set,
            counted.category
    ) as share
from counted;
