-- Share of a context's source characters that lie in gold turns; only for units whose place in the source is known.
-- Where a plan shows other text than its units' own, or other pieces than units: null, reason reshaped.
-- grain: a question in a cell at one cutoff, under one label set
-- reads: labelled_contexts, cells, gold_counts, gold_turns, searched, units, provenance, retrievals
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
    where
        cells.run_id = $run_id
        and (shows_other_text(cells.plan) or shows_other_pieces(cells.plan))
),

-- A number for each ranked list: joins and sums over every rank then carry two numbers instead of three names.
lists as materialized (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        max(asked.units) as longest,
        row_number() over () as list
    from asked
    group by asked.cell, asked.corpus, asked.question_id
),

-- Contexts of one list grow: a step is the ranks that one of them shows and the next shorter one does not.
steps as (
    select
        lengths.list,
        lengths.units,
        coalesce(lag(lengths.units) over (partition by lengths.list order by lengths.units), 0) as shorter
    from (
        select distinct
            lists.list,
            asked.units
        from asked
        inner join lists
            on asked.cell = lists.cell and asked.corpus = lists.corpus and asked.question_id = lists.question_id
    ) as lengths
),

sources as (
    select
        provenance.corpus,
        provenance.representation,
        provenance.unit_id,
        cast(sum(provenance.char_end - provenance.char_start) as bigint) as characters,
        count(*) - count(provenance.char_start) as unplaced
    from provenance
    semi join searched
        on
            provenance.corpus = searched.corpus
            and provenance.representation = searched.representation
            and searched.run_id = $run_id
    group by provenance.corpus, provenance.representation, provenance.unit_id
),

ranked as (
    select
        lists.list,
        retrievals.rank,
        sources.characters,
        coalesce(sources.unplaced, 1) as unplaced
    from retrievals
    inner join lists
        on
            retrievals.cell = lists.cell
            and retrievals.corpus = lists.corpus
            and retrievals.question_id = lists.question_id
            and retrievals.rank <= lists.longest
    left join sources
        on
            retrievals.corpus = sources.corpus
            and retrievals.representation = sources.representation
            and retrievals.unit_id = sources.unit_id
    where retrievals.run_id = $run_id
),

stepped as (
    select
        steps.list,
        steps.units,
        coalesce(sum(ranked.characters), 0) as characters,
        coalesce(sum(ranked.unplaced), 0) as unplaced
    from steps
    left join ranked on steps.list = ranked.list and steps.shorter < ranked.rank and steps.units >= ranked.rank
    group by steps.list, steps.units
),

-- Characters shown up to each length, and how many pieces so far have no known place (a unit without any is one).
running as (
    select
        stepped.list,
        stepped.units,
        sum(stepped.characters) over to_here as characters,
        sum(stepped.unplaced) over to_here as unplaced
    from stepped
    window to_here as (
        partition by stepped.list
        order by stepped.units
        rows between unbounded preceding and current row
    )
),

-- Cells that search a representation with units of unknown place: even an empty context of theirs has no precision.
without_places as (
    select distinct
        searched.cell,
        searched.corpus
    from searched
    inner join units
        on searched.corpus = units.corpus and searched.representation = units.representation
    left join provenance
        on
            units.corpus = provenance.corpus
            and units.representation = provenance.representation
            and units.unit_id = provenance.unit_id
    where searched.run_id = $run_id and provenance.char_start is null
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
gold_shown as materialized (
    select
        retrievals.cell,
        retrievals.corpus,
        retrievals.question_id,
        gold_pieces.label_set,
        retrievals.rank,
        gold_pieces.characters
    from retrievals
    inner join gold_pieces
        on
            retrievals.corpus = gold_pieces.corpus
            and retrievals.question_id = gold_pieces.question_id
            and retrievals.representation = gold_pieces.representation
            and retrievals.unit_id = gold_pieces.unit_id
    where retrievals.run_id = $run_id
),

shown as (
    select
        asked.cell,
        asked.corpus,
        asked.question_id,
        asked.cutoff_kind,
        asked.cutoff,
        asked.label_set,
        sum(gold_shown.characters) as characters
    from asked
    inner join gold_shown
        on
            asked.cell = gold_shown.cell
            and asked.corpus = gold_shown.corpus
            and asked.question_id = gold_shown.question_id
            and asked.label_set = gold_shown.label_set
    where gold_shown.rank <= asked.units
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
            when gold_counts.question_id is null then 'no_valid_evidence'
            when reshaped.cell is not null then 'reshaped'
            when asked.units > 0 and running.unplaced > 0 then 'no_offsets'
            when asked.units = 0 and without_places.cell is not null then 'no_offsets'
        end as reason
    from asked
    left join gold_counts
        on
            asked.corpus = gold_counts.corpus
            and asked.question_id = gold_counts.question_id
            and asked.label_set = gold_counts.label_set
    inner join lists
        on asked.cell = lists.cell and asked.corpus = lists.corpus and asked.question_id = lists.question_id
    left join reshaped on asked.cell = reshaped.cell and asked.corpus = reshaped.corpus
    left join without_places on asked.cell = without_places.cell and asked.corpus = without_places.corpus
    left join running on lists.list = running.list and asked.units = running.units
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
