-- Every unit with a span shows, after its header, exactly those characters of the transcript.
-- grain: a unit and a piece of it that differs from its turn; no row means pass
-- reads: audited, representations, units, provenance, turns
-- Chunks are left to the audit 'rebuild', which proves it for them; that pieces cover units, to 'provenance'.
with chunked as (
    select representations.representation
    from representations
    where representations.kind = 'chunks'
),

others as (
    select
        units.corpus,
        units.conversation_id,
        units.representation,
        units.unit_id,
        units.span_start,
        units.span_end,
        substr(units.show_text, units.header_chars + 1) as slice
    from units
    semi join audited on units.corpus = audited.corpus and units.conversation_id = audited.conversation_id
    anti join chunked on units.representation = chunked.representation
    where units.span_start is not null
),

-- Materialized, since DuckDB else joins every unit with every turn before it looks at the pieces between them.
sources as materialized (
    select
        provenance.corpus,
        provenance.conversation_id,
        provenance.representation,
        provenance.unit_id,
        provenance.piece,
        provenance.ordinal,
        provenance.char_start,
        provenance.char_end
    from provenance
    semi join others
        on
            provenance.corpus = others.corpus
            and provenance.representation = others.representation
            and provenance.unit_id = others.unit_id
    where provenance.char_start is not null
),

pieces as materialized (
    select
        sources.corpus,
        sources.representation,
        sources.unit_id,
        sources.piece,
        sources.char_start,
        sources.char_end,
        substr(
            turns.speaker || ': ' || turns.text || chr(10),
            sources.char_start - turns.char_start + 1,
            sources.char_end - sources.char_start
        ) as content
    from sources
    inner join turns
        on
            sources.corpus = turns.corpus
            and sources.conversation_id = turns.conversation_id
            and sources.ordinal = turns.ordinal
)

select
    others.corpus,
    others.conversation_id,
    others.representation || ' ' || others.unit_id as subject,
    'piece ' || pieces.piece || ' is not what its turn says' as problem
from pieces
inner join others
    on
        pieces.corpus = others.corpus
        and pieces.representation = others.representation
        and pieces.unit_id = others.unit_id
where
    pieces.content
    <> substr(others.slice, pieces.char_start - others.span_start + 1, pieces.char_end - pieces.char_start)
    or length(others.slice) <> others.span_end - others.span_start;
