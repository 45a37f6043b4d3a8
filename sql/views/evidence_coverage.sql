-- The ceiling of evidence recall: how much of the gold a representation's units touch at all, whatever is retrieved.
-- grain: a category of a corpus, in one representation, under one label set
-- reads: gold_counts, gold_units, questions, units
create or replace temp view evidence_coverage as
with touched as (
    select
        gold_units.corpus,
        gold_units.question_id,
        gold_units.label_set,
        gold_units.representation,
        count(distinct gold_units.ordinal) as turns
    from gold_units
    group by gold_units.corpus, gold_units.question_id, gold_units.label_set, gold_units.representation
),

stored as (
    select distinct
        units.corpus,
        units.conversation_id,
        units.representation
    from units
)

select
    gold_counts.corpus,
    stored.representation,
    gold_counts.label_set,
    questions.category,
    count(*) as questions,
    count(touched.turns) as questions_with_any,
    count(*) filter (where touched.turns = gold_counts.turns) as questions_with_all,
    avg(coalesce(touched.turns, 0) / gold_counts.turns) as fraction
from gold_counts
inner join questions
    on
        gold_counts.corpus = questions.corpus
        and gold_counts.question_id = questions.question_id
        and gold_counts.label_set = questions.label_set
inner join stored
    on gold_counts.corpus = stored.corpus and gold_counts.conversation_id = stored.conversation_id
left join touched
    on
        gold_counts.corpus = touched.corpus
        and gold_counts.question_id = touched.question_id
        and gold_counts.label_set = touched.label_set
        and stored.representation = touched.representation
group by gold_counts.corpus, stored.representation, gold_counts.label_set, questions.category;
