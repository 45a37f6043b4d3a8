-- Every piece of provenance has its unit and its turn and lies in it; the pieces of a unit with a span cover it whole.
-- What was found in the source has its place there, what was not has none.
-- grain: a piece, or a unit, that breaks it; no row means pass
-- reads: audited, provenance, units, turns
with pieces as (
    select
        provenance.corpus,
        provenance.conversation_id,
        provenance.representation,
        provenance.unit_id,
        provenance.piece,
        provenance.char_start,
        provenance.char_end,
        turns.ordinal is null as has_no_turn,
        provenance.char_start < turns.char_start
        or provenance.char_end > turns.char_end
        or provenance.char_end <= provenance.char_start as is_outside,
        provenance.grounding not in ('exact', 'normalised', 'fuzzy', 'none')
        or (provenance.grounding = 'none') <> (provenance.char_start is null)
        or (provenance.char_start is null) <> (provenance.char_end is null) as is_misplaced
    from provenance
    semi join audited
        on provenance.corpus = audited.corpus and provenance.conversation_id = audited.conversation_id
    left join turns
        on
            provenance.corpus = turns.corpus
            and provenance.conversation_id = turns.conversation_id
            and provenance.ordinal = turns.ordinal
            and provenance.turn_id = turns.turn_id
),

sources as (
    select
        pieces.corpus,
        pieces.conversation_id,
        pieces.representation,
        pieces.unit_id,
        bool_or(pieces.has_no_turn) as has_no_turn,
        bool_or(pieces.is_outside) as is_outside,
        bool_or(pieces.is_misplaced) as is_misplaced,
        min(pieces.char_start) as first_char,
        max(pieces.char_end) as last_char,
        sum(pieces.char_end - pieces.char_start) as characters
    from pieces
    group by pieces.corpus, pieces.conversation_id, pieces.representation, pieces.unit_id
),

stored as (
    select
        units.corpus,
        units.conversation_id,
        units.representation,
        units.unit_id,
        units.span_start,
        units.span_end
    from units
    semi join audited on units.corpus = audited.corpus and units.conversation_id = audited.conversation_id
)

select
    coalesce(sources.corpus, stored.corpus) as corpus,
    coalesce(sources.conversation_id, stored.conversation_id) as conversation_id,
    coalesce(sources.representation, stored.representation) || ' ' || coalesce(sources.unit_id, stored.unit_id)
        as subject,
    case
        when stored.unit_id is null then 'its unit is missing'
        when sources.has_no_turn then 'its turn is missing'
        when sources.is_outside then 'it lies outside its turn'
        when sources.is_misplaced then 'its grounding does not fit its place'
        else 'its pieces do not cover its span'
    end as problem
from sources
full join stored
    on
        sources.corpus = stored.corpus
        and sources.conversation_id = stored.conversation_id
        and sources.representation = stored.representation
        and sources.unit_id = stored.unit_id
where
    stored.unit_id is null
    or sources.has_no_turn
    or sources.is_outside
    or sources.is_misplaced
    or (
        stored.span_start is not null
        and (
            sources.first_char is distinct from stored.span_start
            or sources.last_char is distinct from stored.span_end
            or sources.characters is distinct from stored.span_end - stored.span_start
        )
    );
