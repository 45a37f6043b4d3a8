-- Every turn lies in a piece of each representation that asked a model about its conversation; pieces tell of as many
-- units as are stored; a failed one says why; a quote that stands in the source to the character does stand there.
-- grain: a conversation, or a unit, of a representation that breaks it; no row means pass
-- reads: audited, parts, part_names, representations, extractions, units, provenance, turns
with asked as (
    select
        parts.corpus,
        parts.conversation_id,
        representations.representation
    from parts
    semi join audited on parts.corpus = audited.corpus and parts.conversation_id = audited.conversation_id
    inner join part_names on parts.part = part_names.part and part_names.kind = 'units'
    inner join representations on part_names.representation = representations.representation
    -- Those that ask a model, and they alone, have it among their settings.
    where contains(representations.settings, '"model":')
),

pieces as (
    select
        extractions.corpus,
        extractions.conversation_id,
        extractions.representation,
        extractions.first_ordinal,
        extractions.last_ordinal,
        extractions.units,
        extractions.outcome = 'failed' and extractions.reason is null as has_no_reason
    from extractions
    semi join audited
        on extractions.corpus = audited.corpus and extractions.conversation_id = audited.conversation_id
),

-- Materialized, and by single turns: a range join would be tried before the equal columns.
places as materialized (
    select distinct
        pieces.corpus,
        pieces.conversation_id,
        pieces.representation,
        unnest(generate_series(pieces.first_ordinal, pieces.last_ordinal)) as ordinal
    from pieces
),

spoken as (
    select
        asked.corpus,
        asked.conversation_id,
        asked.representation,
        turns.ordinal
    from asked
    inner join turns on asked.corpus = turns.corpus and asked.conversation_id = turns.conversation_id
),

covered as (
    select
        coalesce(spoken.corpus, places.corpus) as corpus,
        coalesce(spoken.conversation_id, places.conversation_id) as conversation_id,
        coalesce(spoken.representation, places.representation) as representation,
        min(spoken.ordinal) filter (where places.ordinal is null) as turn_left_out,
        min(places.ordinal) filter (where spoken.ordinal is null) as turn_unknown
    from spoken
    full join places
        on
            spoken.corpus = places.corpus
            and spoken.conversation_id = places.conversation_id
            and spoken.representation = places.representation
            and spoken.ordinal = places.ordinal
    group by all
),

told as (
    select
        pieces.corpus,
        pieces.conversation_id,
        pieces.representation,
        cast(sum(pieces.units) as bigint) as units,
        bool_or(pieces.has_no_reason) as has_no_reason
    from pieces
    group by pieces.corpus, pieces.conversation_id, pieces.representation
),

stored as (
    select
        units.corpus,
        units.conversation_id,
        units.representation,
        count(*) as units
    from units
    semi join asked
        on
            units.corpus = asked.corpus
            and units.conversation_id = asked.conversation_id
            and units.representation = asked.representation
    group by units.corpus, units.conversation_id, units.representation
),

-- Units of one piece of the source: of several, none need be the whole quote.
quoted as materialized (
    select
        provenance.corpus,
        provenance.conversation_id,
        provenance.representation,
        provenance.unit_id,
        any_value(provenance.ordinal) as ordinal,
        any_value(provenance.char_start) as char_start,
        any_value(provenance.char_end) as char_end
    from provenance
    semi join asked
        on
            provenance.corpus = asked.corpus
            and provenance.conversation_id = asked.conversation_id
            and provenance.representation = asked.representation
    group by provenance.corpus, provenance.conversation_id, provenance.representation, provenance.unit_id
    having count(*) = 1 and bool_and(provenance.grounding = 'exact')
),

misquoted as (
    select
        quoted.corpus,
        quoted.conversation_id,
        quoted.representation,
        quoted.unit_id
    from quoted
    inner join units
        on
            quoted.corpus = units.corpus
            and quoted.representation = units.representation
            and quoted.unit_id = units.unit_id
    inner join turns
        on
            quoted.corpus = turns.corpus
            and quoted.conversation_id = turns.conversation_id
            and quoted.ordinal = turns.ordinal
    where
        units.span_start is null
        and not contains(
            units.attributes ->> '$.quote',
            substr(
                turns.speaker || ': ' || turns.text,
                quoted.char_start - turns.char_start + 1,
                quoted.char_end - quoted.char_start
            )
        )
)

select
    covered.corpus,
    covered.conversation_id,
    covered.representation as subject,
    case
        when covered.turn_left_out is not null then 'turn ' || covered.turn_left_out || ' lies in no piece'
        else 'a piece holds turn ' || covered.turn_unknown || ', which there is not'
    end as problem
from covered
where covered.turn_left_out is not null or covered.turn_unknown is not null
union all
select
    coalesce(told.corpus, stored.corpus) as corpus,
    coalesce(told.conversation_id, stored.conversation_id) as conversation_id,
    coalesce(told.representation, stored.representation) as subject,
    case
        when told.has_no_reason then 'a piece failed without a reason'
        else 'pieces tell of ' || coalesce(told.units, 0) || ' units, stored are ' || coalesce(stored.units, 0)
    end as problem
from told
full join stored
    on
        told.corpus = stored.corpus
        and told.conversation_id = stored.conversation_id
        and told.representation = stored.representation
where told.has_no_reason or coalesce(told.units, 0) <> coalesce(stored.units, 0)
union all
select
    misquoted.corpus,
    misquoted.conversation_id,
    misquoted.representation || ' ' || misquoted.unit_id as subject,
    'its quote is not what its turn says' as problem
from misquoted;
