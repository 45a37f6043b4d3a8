-- How many gold turns a question has, of those that have any.
-- grain: a question under one label set
-- reads: gold_turns
create or replace temp view gold_counts as
select
    gold_turns.corpus,
    gold_turns.conversation_id,
    gold_turns.question_id,
    gold_turns.label_set,
    count(*) as turns
from gold_turns
group by gold_turns.corpus, gold_turns.conversation_id, gold_turns.question_id, gold_turns.label_set;
