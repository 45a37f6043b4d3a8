-- Of a question's gold turns: is one, is every one, which share is among the turns of the context's units.
-- Where a plan shows another text of a unit than its own, its turns may not be shown: null, reason reshaped.
-- grain: a metric of a question in a cell at one cutoff, under one label set
-- reads: labelled_contexts, cells, gold_counts, gold_ranks
-- param: run_id: the run to score
with asked as (
    select
        labelled_contexts.run_id,
        labelled_contexts.cell,
        labelled_contexts.corpus,
        labelled_contexts.conversation_id,
        labelled_contexts.question_id,
        labelled_contexts.cutoff_kind,
        labelled_contexts.cutoff,
        labelled_contexts.units,
        labelled_contexts.label_set,
        labelled_contexts.category
    from labelled_contexts
    where labelled_contexts.run_id = $run_id
),

reshaped as (
    select
        cells.cell,
        cells.corpus
    from cells
    where cells.run_id = $run_id and shows_other_text(cells.plan)
),

-- The rank at which a gold turn first comes: a context shows it when it is at least that long.
first_shown as (
    select
        gold_ranks.cell,
        gold_ranks.corpus,
        gold_ranks.question_id,
        gold_ranks.label_set,
        gold_ranks.ordinal,
        min(gold_ranks.rank) as rank
    from gold_ranks
    where gold_ranks.run_id = $run_id
    group by
        gold_ranks.cell, gold_ranks.corpus, gold_ranks.question_id, gold_ranks.label_set, gold_ranks.ordinal
),

shown as (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        asked.cutoff_kind,
        asked.cutoff,
        asked.label_set,
        count(*) as turns
    from asked
    inner join first_shown
        on
            asked.cell = first_shown.cell
            and asked.corpus = first_shown.corpus
            and asked.question_id = first_shown.question_id
            and asked.label_set = first_shown.label_set
    where first_shown.rank <= asked.units
    group by asked.cell, asked.corpus, asked.question_id, asked.cutoff_kind, asked.cutoff, asked.label_set
),

counted as (
    select
        asked.run_id,
        asked.cell,
        asked.corpus,
        asked.conversation_id,
        asked.question_id,
        asked.cutoff_kind,
        asked.cutoff,
        asked.label_set,
        asked.category,
        gold_counts.turns as gold,
        coalesce(shown.turns, 0) as shown,
        case
            when gold_counts.turns is null then 'no_valid_evidence'
            when reshaped.cell is not null then 'reshaped'
        end as reason
    from asked
    left join gold_counts
        on
            asked.corpus = gold_counts.corpus
            and asked.question_id = gold_counts.question_id
            and asked.label_set = gold_counts.label_set
    left join reshaped on asked.cell = reshaped.cell and asked.corpus = reshaped.corpus
    left join shown
        on
            asked.cell = shown.cell
            and asked.corpus = shown.corpus
            and asked.question_id = shown.question_id
            and asked.cutoff_kind = shown.cutoff_kind
            and asked.cutoff = shown.cutoff
            and asked.label_set = shown.label_set
)

select
    counted.run_id,
    counted.cell,
    counted.corpus,
    counted.conversation_id,
    counted.question_id,
    counted.cutoff_kind,
    counted.cutoff,
    0 as repeat,
    metrics.metric,
    counted.label_set,
    counted.category,
    '' as judge,
    case
        when counted.reason is not null then null
        when metrics.metric = 'evidence_recall_any' then cast(counted.shown > 0 as double)
        when metrics.metric = 'evidence_recall_all' then cast(counted.shown = counted.gold as double)
        else counted.shown / counted.gold
    end as value,
    counted.reason
from counted
cross join
    (
        values
        ('evidence_recall_any'),
        ('evidence_recall_all'),
        ('evidence_recall_fraction')
    ) as metrics (metric);
