-- The ceiling of evidence recall: how much of the gold a representation's units touch at all, whatever is retrieved.
-- grain: a category of a corpus, in one representation, under one label set
-- reads: gold_turns, gold_units, questions, units
create or replace temp view evidence_coverage as
with gold as (
    select
        gold_turns.corpus,
        gold_turns.conversation_id,
        gold_turns.question_id,
        gold_turns.label_set,
        count(*) as turns
    from gold_turns
    group by gold_turns.corpus, gold_turns.conversation_id, gold_turns.question_id, gold_turns.label_set
),

touched as (
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
    gold.corpus,
    stored.representation,
    gold.label_set,
    questions.category,
    count(*) as questions,
    count(touched.turns) as questions_with_any,
    count(*) filter (where touched.turns = gold.turns) as questions_with_all,
    avg(coalesce(touched.turns, 0) / gold.turns) as fraction
from gold
inner join questions
    on
        gold.corpus = questions.corpus
        and gold.question_id = questions.question_id
        and gold.label_set = questions.label_set
inner join stored
    on gold.corpus = stored.corpus and gold.conversation_id = stored.conversation_id
left join touched
    on
        gold.corpus = touched.corpus
        and gold.question_id = touched.question_id
        and gold.label_set = touched.label_set
        and stored.representation = touched.representation
group by gold.corpus, stored.representation, gold.label_set, questions.category;
