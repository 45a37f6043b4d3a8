-- Share of a context's source characters that lie in gold turns; only for units whose place in the source is known.
-- grain: a question in a cell at one cutoff, under one label set
-- reads: contexts, questions, cells, gold_turns, units, provenance, retrievals
-- param: run_id: the run to score
with asked as (
    select
        contexts.run_id,
        contexts.cell,
        contexts.corpus,
        contexts.conversation_id,
        contexts.question_id,
        contexts.cutoff_kind,
        contexts.cutoff,
        contexts.units,
        questions.label_set,
        questions.category
    from contexts
    inner join questions on contexts.corpus = questions.corpus and contexts.question_id = questions.question_id
    where contexts.run_id = $run_id
),

gold as (
    select distinct
        gold_turns.corpus,
        gold_turns.question_id,
        gold_turns.label_set
    from gold_turns
),

longest as (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        max(asked.units) as units
    from asked
    group by asked.cell, asked.corpus, asked.question_id
),

ranked as (
    select
        retrievals.cell,
        retrievals.corpus,
        retrievals.question_id,
        retrievals.rank,
        retrievals.representation,
        retrievals.unit_id
    from retrievals
    inner join longest
        on
            retrievals.cell = longest.cell
            and retrievals.corpus = longest.corpus
            and retrievals.question_id = longest.question_id
    where retrievals.run_id = $run_id and retrievals.rank <= longest.units
),

sources as (
    select
        provenance.corpus,
        provenance.representation,
        provenance.unit_id,
        sum(provenance.char_end - provenance.char_start) as characters,
        count(*) - count(provenance.char_start) as unplaced
    from provenance
    semi join ranked
        on
            provenance.corpus = ranked.corpus
            and provenance.representation = ranked.representation
            and provenance.unit_id = ranked.unit_id
    group by provenance.corpus, provenance.representation, provenance.unit_id
),

-- Characters shown up to each rank, and how many pieces so far have no known place (a unit without any counts as one).
running as (
    select
        ranked.cell,
        ranked.corpus,
        ranked.question_id,
        ranked.rank,
        sum(sources.characters) over to_here as characters,
        sum(coalesce(sources.unplaced, 1)) over to_here as unplaced
    from ranked
    left join sources
        on
            ranked.corpus = sources.corpus
            and ranked.representation = sources.representation
            and ranked.unit_id = sources.unit_id
    window to_here as (
        partition by ranked.cell, ranked.corpus, ranked.question_id
        order by ranked.rank
        rows between unbounded preceding and current row
    )
),

-- Cells that search a representation with units of unknown place: of their contexts even an empty one has no precision.
searched as (
    select
        cells.cell,
        cells.corpus,
        unnest(cells.representations) as representation
    from cells
    where cells.run_id = $run_id
),

without_places as (
    select distinct searched.cell
    from searched
    inner join units
        on searched.corpus = units.corpus and searched.representation = units.representation
    left join provenance
        on
            units.corpus = provenance.corpus
            and units.representation = provenance.representation
            and units.unit_id = provenance.unit_id
    where provenance.char_start is null
),

gold_pieces as (
    select
        gold_turns.corpus,
        gold_turns.question_id,
        gold_turns.label_set,
        provenance.representation,
        provenance.unit_id,
        sum(provenance.char_end - provenance.char_start) as characters
    from gold_turns
    inner join provenance
        on
            gold_turns.corpus = provenance.corpus
            and gold_turns.conversation_id = provenance.conversation_id
            and gold_turns.ordinal = provenance.ordinal
    where provenance.char_start is not null
    group by
        gold_turns.corpus,
        gold_turns.question_id,
        gold_turns.label_set,
        provenance.representation,
        provenance.unit_id
),

-- Materialized, since DuckDB else may join every gold piece with every context of its label set first.
gold_ranks as materialized (
    select
        ranked.cell,
        ranked.corpus,
        ranked.question_id,
        gold_pieces.label_set,
        ranked.rank,
        gold_pieces.characters
    from ranked
    inner join gold_pieces
        on
            ranked.corpus = gold_pieces.corpus
            and ranked.question_id = gold_pieces.question_id
            and ranked.representation = gold_pieces.representation
            and ranked.unit_id = gold_pieces.unit_id
),

shown as (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        asked.cutoff_kind,
        asked.cutoff,
        asked.label_set,
        sum(gold_ranks.characters) as characters
    from asked
    inner join gold_ranks
        on
            asked.cell = gold_ranks.cell
            and asked.corpus = gold_ranks.corpus
            and asked.question_id = gold_ranks.question_id
            and asked.label_set = gold_ranks.label_set
    where gold_ranks.rank <= asked.units
    group by asked.cell, asked.corpus, asked.question_id, asked.cutoff_kind, asked.cutoff, asked.label_set
),

reasoned as (
    select
        asked.run_id,
        asked.cell,
        asked.corpus,
        asked.conversation_id,
        asked.question_id,
        asked.cutoff_kind,
        asked.cutoff,
        asked.units,
        asked.label_set,
        asked.category,
        running.characters as all_characters,
        coalesce(shown.characters, 0) as gold_characters,
        case
            when gold.question_id is null then 'no_valid_evidence'
            when asked.units > 0 and running.unplaced > 0 then 'no_offsets'
            when asked.units = 0 and without_places.cell is not null then 'no_offsets'
        end as reason
    from asked
    left join gold
        on
            asked.corpus = gold.corpus
            and asked.question_id = gold.question_id
            and asked.label_set = gold.label_set
    left join without_places on asked.cell = without_places.cell
    left join running
        on
            asked.cell = running.cell
            and asked.corpus = running.corpus
            and asked.question_id = running.question_id
            and asked.units = running.rank
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
    reasoned.run_id,
    reasoned.cell,
    reasoned.corpus,
    reasoned.conversation_id,
    reasoned.question_id,
    reasoned.cutoff_kind,
    reasoned.cutoff,
    0 as repeat,
    'evidence_precision' as metric,
    reasoned.label_set,
    reasoned.category,
    '' as judge,
    case
        when reasoned.reason is not null then null
        when reasoned.units = 0 then 0.0
        else reasoned.gold_characters / reasoned.all_characters
    end as value,
    reasoned.reason
from reasoned;
