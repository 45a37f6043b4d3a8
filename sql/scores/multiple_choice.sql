-- Of questions with options: whether the option that the answer chooses is the right one.
-- The right one is the question's attribute right_option (from 0), else the option that reads as the gold answer does.
-- grain: an answer under one label set
-- reads: labelled_answers
-- param: run_id: the run to score
with chosen as (
    select
        labelled_answers.run_id,
        labelled_answers.cell,
        labelled_answers.corpus,
        labelled_answers.conversation_id,
        labelled_answers.question_id,
        labelled_answers.cutoff_kind,
        labelled_answers.cutoff,
        labelled_answers.repeat,
        labelled_answers.label_set,
        labelled_answers.category,
        labelled_answers.option,
        coalesce(
            try_cast(json_extract_string(labelled_answers.attributes, '$.right_option') as bigint),
            nullif(list_position(labelled_answers.options, labelled_answers.answer), 0) - 1
        ) as right_option,
        case when labelled_answers.text is null then coalesce(labelled_answers.reason, 'no_answer') end as unanswered
    from labelled_answers
    where labelled_answers.run_id = $run_id and len(labelled_answers.options) > 0
)

select
    chosen.run_id,
    chosen.cell,
    chosen.corpus,
    chosen.conversation_id,
    chosen.question_id,
    chosen.cutoff_kind,
    chosen.cutoff,
    chosen.repeat,
    'multiple_choice_accuracy' as metric,
    chosen.label_set,
    chosen.category,
    '' as judge,
    case when chosen.unanswered is null then cast(chosen.option = chosen.right_option as double) end as value,
    case
        when chosen.unanswered is not null then chosen.unanswered
        when chosen.right_option is null then 'no_right_option'
        when chosen.option is null then 'unparsable_choice'
    end as reason
from chosen;
