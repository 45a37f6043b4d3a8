-- The questions of a browser under the labels of the headline where a question has them, else under its first ones.
-- grain: a question
-- reads: questions, browsed
-- param: label_set: the labels of the headline
select
    questions.corpus,
    questions.conversation_id,
    questions.question_id,
    questions.label_set,
    questions.text,
    questions.answer,
    questions.answers,
    questions.options,
    questions.asked_at,
    questions.category,
    questions.answerable
from questions
semi join browsed on questions.corpus = browsed.corpus and questions.question_id = browsed.question_id
qualify
    row_number() over (
        partition by questions.corpus, questions.question_id
        order by questions.label_set = $label_set desc, questions.label_set
    ) = 1
order by questions.corpus, questions.conversation_id, questions.position;
