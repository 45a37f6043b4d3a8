-- Which share of answers survives in the context of each cell, by category: every token, and the share of tokens.
-- grain: a category of a cell
-- reads: survival_by_category, latest_study, cells
-- param: run_id: optional, the run (cells.run_id); the latest study by default
-- param: tokens: optional, the token budget of the context; 1000 by default
-- param: label_set: optional, whose labels (scores.label_set); official by default
-- no rows: nothing was measured at this budget under these labels; memlake study show RUN says what was
with chosen as (
    select coalesce(cast($run_id as varchar), latest_study.run_id) as run_id
    from latest_study
),

shown as (
    select
        survival_by_category.run_id,
        survival_by_category.corpus,
        survival_by_category.cell,
        survival_by_category.category,
        survival_by_category.survival_all,
        survival_by_category.survival_share,
        survival_by_category.n,
        survival_by_category.excluded
    from survival_by_category
    semi join chosen on survival_by_category.run_id = chosen.run_id
    where
        survival_by_category.cutoff_kind = 'tokens'
        and survival_by_category.cutoff = coalesce(cast($tokens as bigint), 1000)
        and survival_by_category.label_set = coalesce(cast($label_set as varchar), 'official')
),

stored as (
    select
        survival_by_category.run_id,
        survival_by_category.corpus,
        survival_by_category.cell,
        survival_by_category.category,
        survival_by_category.survival_all
    from survival_by_category
    semi join chosen on survival_by_category.run_id = chosen.run_id
    where
        survival_by_category.cutoff_kind = 'none'
        and survival_by_category.label_set = coalesce(cast($label_set as varchar), 'official')
)

select
    shown.corpus,
    shown.category,
    cells.representations,
    shown.cell,
    stored.survival_all as stored_all,
    shown.survival_all as shown_all,
    shown.survival_share as shown_share,
    shown.n,
    shown.excluded
from shown
inner join cells on shown.run_id = cells.run_id and shown.corpus = cells.corpus and shown.cell = cells.cell
left join stored
    on shown.corpus = stored.corpus and shown.cell = stored.cell and shown.category = stored.category
order by shown.corpus asc, shown.category asc, shown.survival_all desc, shown.cell asc;
