-- The gold turns as they were said.
-- grain: a turn
-- reads: turns, browsed_gold
select
    turns.corpus,
    turns.conversation_id,
    turns.ordinal,
    turns.turn_id,
    turns.speaker,
    turns.text,
    turns.said_at,
    turns.session_label,
    turns.session_at
from turns
semi join browsed_gold
    on
        turns.corpus = browsed_gold.corpus
        and turns.conversation_id = browsed_gold.conversation_id
        and turns.ordinal = browsed_gold.ordinal;
