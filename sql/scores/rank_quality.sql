-- mrr: 1 / rank of the first unit that touches a gold turn; ndcg: gain 1 for each such unit, ideal = all of them first.
-- Both are of the context's units: a context that holds fewer than k, or none, has no relevant unit beyond them.
-- grain: a metric of a question in a cell at one k, under one label set
-- reads: labelled_contexts, searched, gold_counts, gold_units, gold_ranks
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
    where labelled_contexts.run_id = $run_id and labelled_contexts.cutoff_kind = 'k'
),

relevant as (
    select
        searched.cell,
        gold_units.corpus,
        gold_units.question_id,
        gold_units.label_set,
        count(distinct gold_units.unit_id) as units
    from gold_units
    inner join searched
        on gold_units.corpus = searched.corpus and gold_units.representation = searched.representation
    where searched.run_id = $run_id
    group by searched.cell, gold_units.corpus, gold_units.question_id, gold_units.label_set
),

hits as (
    select distinct
        gold_ranks.cell,
        gold_ranks.corpus,
        gold_ranks.question_id,
        gold_ranks.label_set,
        gold_ranks.rank
    from gold_ranks
    where gold_ranks.run_id = $run_id
),

gains as (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        asked.cutoff,
        asked.label_set,
        1.0 / min(hits.rank) as reciprocal_rank,
        -- In the order of the ranks: a sum of floats in another order is another sum.
        sum(1.0 / log2(hits.rank + 1) order by hits.rank) as gain
    from asked
    inner join hits
        on
            asked.cell = hits.cell
            and asked.corpus = hits.corpus
            and asked.question_id = hits.question_id
            and asked.label_set = hits.label_set
    where hits.rank <= asked.units
    group by asked.cell, asked.corpus, asked.question_id, asked.cutoff, asked.label_set
)

select
    asked.run_id,
    asked.cell,
    asked.corpus,
    asked.conversation_id,
    asked.question_id,
    asked.cutoff_kind,
    asked.cutoff,
    0 as repeat,
    metrics.metric,
    asked.label_set,
    asked.category,
    '' as judge,
    case
        when gold_counts.question_id is null then null
        when gains.gain is null then 0.0
        when metrics.metric = 'mrr' then gains.reciprocal_rank
        else gains.gain / ideal_gain(least(asked.cutoff, relevant.units))
    end as value,
    case when gold_counts.question_id is null then 'no_valid_evidence' end as reason
from asked
left join gold_counts
    on
        asked.corpus = gold_counts.corpus
        and asked.question_id = gold_counts.question_id
        and asked.label_set = gold_counts.label_set
left join relevant
    on
        asked.cell = relevant.cell
        and asked.corpus = relevant.corpus
        and asked.question_id = relevant.question_id
        and asked.label_set = relevant.label_set
left join gains
    on
        asked.cell = gains.cell
        and asked.corpus = gains.corpus
        and asked.question_id = gains.question_id
        and asked.cutoff = gains.cutoff
        and asked.label_set = gains.label_set
cross join (values ('mrr'), ('ndcg')) as metrics (metric);
