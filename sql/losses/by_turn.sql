-- Gold turns of questions whose gold answer has no content tokens and was missed: no word tells where it was lost.
-- wanted: how many there are; stored: how many of them a unit touches; ranks: where each of these first comes.
-- grain: a question in a cell, under one label set
-- reads: judgements, questions, searched, gold_turns, gold_units, retrievals
-- param: run_id: the run
with wordless as (
    select distinct
        judgements.cell,
        judgements.corpus,
        judgements.question_id,
        judgements.label_set
    from judgements
    inner join questions
        on
            judgements.corpus = questions.corpus
            and judgements.question_id = questions.question_id
            and judgements.label_set = questions.label_set
    where judgements.run_id = $run_id and judgements.correct = false and len(questions.answer_tokens) = 0
),

wanted as (
    select
        wordless.cell,
        wordless.corpus,
        wordless.question_id,
        wordless.label_set,
        gold_turns.ordinal
    from wordless
    inner join gold_turns
        on
            wordless.corpus = gold_turns.corpus
            and wordless.question_id = gold_turns.question_id
            and wordless.label_set = gold_turns.label_set
    group by wordless.cell, wordless.corpus, wordless.question_id, wordless.label_set, gold_turns.ordinal
),

-- Materialized, so that only the few units of these questions meet the ranked lists.
stored as materialized (
    select
        wanted.cell,
        wanted.corpus,
        wanted.question_id,
        wanted.label_set,
        wanted.ordinal,
        gold_units.representation,
        gold_units.unit_id
    from wanted
    inner join gold_units
        on
            wanted.corpus = gold_units.corpus
            and wanted.question_id = gold_units.question_id
            and wanted.label_set = gold_units.label_set
            and wanted.ordinal = gold_units.ordinal
    semi join searched
        on
            wanted.cell = searched.cell
            and wanted.corpus = searched.corpus
            and gold_units.representation = searched.representation
            and searched.run_id = $run_id
),

-- By turn: whether a unit holds it, and the rank at which one first comes.
turns as (
    select
        stored.cell,
        stored.corpus,
        stored.question_id,
        stored.label_set,
        stored.ordinal,
        min(retrievals.rank) as rank
    from stored
    left join retrievals
        on
            stored.cell = retrievals.cell
            and stored.corpus = retrievals.corpus
            and stored.question_id = retrievals.question_id
            and stored.representation = retrievals.representation
            and stored.unit_id = retrievals.unit_id
            and retrievals.run_id = $run_id
    group by stored.cell, stored.corpus, stored.question_id, stored.label_set, stored.ordinal
)

select
    wordless.cell,
    wordless.corpus,
    wordless.question_id,
    wordless.label_set,
    count(wanted.ordinal) as wanted,
    count(turns.ordinal) as stored,
    list(turns.rank) filter (where turns.rank is not null) as ranks
from wordless
left join wanted
    on
        wordless.cell = wanted.cell
        and wordless.corpus = wanted.corpus
        and wordless.question_id = wanted.question_id
        and wordless.label_set = wanted.label_set
left join turns
    on
        wanted.cell = turns.cell
        and wanted.corpus = turns.corpus
        and wanted.question_id = turns.question_id
        and wanted.label_set = turns.label_set
        and wanted.ordinal = turns.ordinal
group by wordless.cell, wordless.corpus, wordless.question_id, wordless.label_set;
