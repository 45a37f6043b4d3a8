-- What a reader said beside what was right, under each set of labels of the question.
-- `said` is what is scored: the text of the option that it chooses, else its own; `chose_nothing` where it should have
-- chosen one and names none.
-- grain: an answer under one label set of its question
-- reads: answers, questions, conversations
create or replace temp view labelled_answers as
select
    answers.run_id,
    answers.cell,
    answers.corpus,
    answers.conversation_id,
    answers.question_id,
    answers.cutoff_kind,
    answers.cutoff,
    answers.repeat,
    answers.text,
    answers.reason,
    answers.abstained,
    answers.option,
    coalesce(questions.options[answers.option + 1], answers.text) as said,
    len(questions.options) > 0
    and not coalesce(answers.abstained, false)
    and questions.options[answers.option + 1] is null as chose_nothing,
    questions.label_set,
    questions.category,
    questions.answerable,
    questions.answer,
    case
        when len(questions.answers) > 0 then questions.answers
        when questions.answer is not null then [questions.answer]
        else []
    end as accepted,
    questions.options,
    questions.attributes,
    coalesce(conversations.format, '') as format
from answers
inner join questions on answers.corpus = questions.corpus and answers.question_id = questions.question_id
left join conversations
    on answers.corpus = conversations.corpus and answers.conversation_id = conversations.conversation_id;
