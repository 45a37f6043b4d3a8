-- A unit's exact source characters, cut anew from the turns that it came from, beside what the unit stores.
-- grain: a turn that the unit touches
-- reads: units, provenance, turns
-- param: unit_id: the unit (units.unit_id)
-- no rows: no turn is on record as its source; memlake tables show provenance says what is recorded of units
with pieces as (
    select
        provenance.unit_id,
        provenance.piece,
        turns.turn_id,
        turns.speaker,
        provenance.char_start,
        provenance.char_end,
        provenance.touches_text,
        substr(
            turns.speaker || ': ' || turns.text || chr(10),
            provenance.char_start - turns.char_start + 1,
            provenance.char_end - provenance.char_start
        ) as source
    from provenance
    inner join turns
        on
            provenance.corpus = turns.corpus
            and provenance.conversation_id = turns.conversation_id
            and provenance.ordinal = turns.ordinal
    where provenance.unit_id = $unit_id
)

select
    units.corpus,
    units.conversation_id,
    units.representation,
    units.unit_id,
    pieces.turn_id,
    pieces.speaker,
    pieces.char_start,
    pieces.char_end,
    pieces.touches_text,
    pieces.source,
    substr(
        units.show_text, units.header_chars + 1 + pieces.char_start - units.span_start,
        pieces.char_end - pieces.char_start
    ) as stored,
    pieces.source = substr(
        units.show_text, units.header_chars + 1 + pieces.char_start - units.span_start,
        pieces.char_end - pieces.char_start
    ) as is_exact
from units
inner join pieces on units.unit_id = pieces.unit_id
order by pieces.piece;
