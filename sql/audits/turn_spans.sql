-- Spans of turns tile the canonical text: each begins where the one before ends and is as long as 'speaker: text' and
-- its line break, which the last turn has not; ordinals count from 0.
-- grain: a turn that breaks it; no row means pass
-- reads: audited, turns
with placed as (
    select
        turns.corpus,
        turns.conversation_id,
        turns.ordinal,
        turns.char_start,
        turns.char_end,
        length(turns.speaker) + length(': ') + length(turns.text) as characters,
        row_number() over conversation - 1 as place,
        lag(turns.char_end, 1, 0) over conversation as previous_end,
        lead(turns.ordinal) over conversation is null as is_last
    from turns
    semi join audited on turns.corpus = audited.corpus and turns.conversation_id = audited.conversation_id
    window conversation as (
        partition by turns.corpus, turns.conversation_id
        order by turns.ordinal
    )
)

select
    placed.corpus,
    placed.conversation_id,
    'turn ' || placed.ordinal as subject,
    case
        when placed.ordinal <> placed.place then 'its place is ' || placed.place
        when placed.char_start <> placed.previous_end
            then 'it starts at ' || placed.char_start || ', the one before ends at ' || placed.previous_end
        else 'it is ' || placed.characters || ' characters, its span is ' || (placed.char_end - placed.char_start)
    end as problem
from placed
where
    placed.ordinal <> placed.place
    or placed.char_start <> placed.previous_end
    or placed.char_end - placed.char_start <> placed.characters + if(placed.is_last, 0, 1);
