-- The gold turns of the questions.
-- grain: a gold turn of a question
-- reads: gold_turns, browsed_questions
select
    gold_turns.corpus,
    gold_turns.conversation_id,
    gold_turns.question_id,
    gold_turns.ordinal
from gold_turns
semi join browsed_questions
    on
        gold_turns.corpus = browsed_questions.corpus
        and gold_turns.question_id = browsed_questions.question_id
        and gold_turns.label_set = browsed_questions.label_set
order by gold_turns.corpus, gold_turns.question_id, gold_turns.ordinal;
