-- What was shown of a question beside what is right, under each set of labels of the question; candidate lists are not.
-- grain: a question in a cell at one cutoff, under one label set
-- reads: contexts, questions
create or replace temp view labelled_contexts as
select
    contexts.run_id,
    contexts.cell,
    contexts.corpus,
    contexts.conversation_id,
    contexts.question_id,
    contexts.cutoff_kind,
    contexts.cutoff,
    contexts.units,
    contexts.content_tokens,
    questions.label_set,
    questions.category,
    questions.answerable,
    questions.answer_tokens
from contexts
inner join questions on contexts.corpus = questions.corpus and contexts.question_id = questions.question_id
where contexts.cutoff_kind <> 'candidates';
