-- Every transcript can be rebuilt from its chunks alone, byte for byte, and every chunk is the slice its span says.
-- grain: a conversation and a representation by chunks that fails it; no row means pass
-- reads: audited, parts, part_names, representations, units, turns
-- A chunk without what it shares with the one before is its tail. Tails put together are the transcript; what is shared
-- must end the chunk before. With spans that start at 0 and leave no gap, both together prove each slice.
with wanted as (
    select
        parts.corpus,
        parts.conversation_id,
        representations.representation
    from parts
    semi join audited on parts.corpus = audited.corpus and parts.conversation_id = audited.conversation_id
    inner join part_names on parts.part = part_names.part and part_names.kind = 'units'
    inner join representations on part_names.representation = representations.representation
    where representations.kind = 'chunks' and parts.rows > 0
),

canonical as (
    select
        turns.corpus,
        turns.conversation_id,
        string_agg(turns.speaker || ': ' || turns.text, chr(10) order by turns.ordinal) as content
    from turns
    semi join wanted on turns.corpus = wanted.corpus and turns.conversation_id = wanted.conversation_id
    group by turns.corpus, turns.conversation_id
),

placed as (
    select
        units.corpus,
        units.conversation_id,
        units.representation,
        units.show_text,
        units.header_chars,
        units.span_start,
        units.span_end,
        lag(units.span_start, 1, 0) over conversation as previous_start,
        lag(units.span_end, 1, 0) over conversation as previous_end,
        lag(units.show_text, 1, '') over conversation as previous_text
    from units
    semi join wanted
        on
            units.corpus = wanted.corpus
            and units.conversation_id = wanted.conversation_id
            and units.representation = wanted.representation
    window conversation as (
        partition by units.corpus, units.conversation_id, units.representation
        order by units.span_start
    )
),

rebuilt as (
    select
        placed.corpus,
        placed.conversation_id,
        placed.representation,
        string_agg(
            substr(placed.show_text, placed.header_chars + placed.previous_end - placed.span_start + 1), ''
            order by placed.span_start
        ) as content,
        count(*) filter (
            where
            placed.span_start not between placed.previous_start and placed.previous_end
            or placed.span_end <= placed.previous_end
            or placed.span_end - placed.span_start <> length(placed.show_text) - placed.header_chars
            or not ends_with(
                placed.previous_text,
                substr(placed.show_text, placed.header_chars + 1, placed.previous_end - placed.span_start)
            )
        ) as misplaced
    from placed
    group by placed.corpus, placed.conversation_id, placed.representation
)

select
    wanted.corpus,
    wanted.conversation_id,
    wanted.representation as subject,
    case
        when rebuilt.content is null then 'no chunks'
        when canonical.content is null then 'no turns'
        when rebuilt.misplaced > 0 then rebuilt.misplaced || ' chunks are not the slices that their spans say'
        else 'the chunks put together are not the transcript'
    end as problem
from wanted
left join rebuilt
    on
        wanted.corpus = rebuilt.corpus
        and wanted.conversation_id = rebuilt.conversation_id
        and wanted.representation = rebuilt.representation
left join canonical
    on wanted.corpus = canonical.corpus and wanted.conversation_id = canonical.conversation_id
where rebuilt.misplaced is distinct from 0 or rebuilt.content is distinct from canonical.content;
