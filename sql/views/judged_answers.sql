-- What judges said of answers, beside the answers and the labels that they were judged by.
-- grain: a verdict of one judge on one answer
-- reads: judgements, labelled_answers
create or replace temp view judged_answers as
select
    judgements.run_id,
    judgements.cell,
    judgements.corpus,
    judgements.conversation_id,
    judgements.question_id,
    judgements.cutoff_kind,
    judgements.cutoff,
    judgements.repeat,
    judgements.judge,
    judgements.label_set,
    judgements.judge_repeat,
    judgements.correct,
    judgements.reason,
    labelled_answers.category,
    labelled_answers.text,
    labelled_answers.abstained,
    labelled_answers.answerable,
    labelled_answers.format
from judgements
inner join labelled_answers
    on
        judgements.run_id = labelled_answers.run_id
        and judgements.cell = labelled_answers.cell
        and judgements.corpus = labelled_answers.corpus
        and judgements.question_id = labelled_answers.question_id
        and judgements.cutoff_kind = labelled_answers.cutoff_kind
        and judgements.cutoff = labelled_answers.cutoff
        and judgements.repeat = labelled_answers.repeat
        and judgements.label_set = labelled_answers.label_set;
