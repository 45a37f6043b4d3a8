-- Of questions with options: whether the option that the answer chooses is the right one.
-- The right one is the question's attribute right_option (from 0), else the option that reads as the gold answer does;
-- another of the same text is as right. An answer that abstains chooses nothing, which is wrong.
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
        labelled_answers.abstained,
        labelled_answers.options,
        labelled_answers.options[labelled_answers.option + 1] as chosen_text,
        coalesce(
            try_cast(json_extract_string(labelled_answers.attributes, '$.right_option') as bigint),
            nullif(list_position(labelled_answers.options, labelled_answers.answer), 0) - 1
        ) as right_option,
        case when labelled_answers.text is null then coalesce(labelled_answers.reason, 'no_answer') end as unanswered
    from labelled_answers
    where labelled_answers.run_id = $run_id and len(labelled_answers.options) > 0
),

compared as (
    select
        chosen.run_id,
        chosen.cell,
        chosen.corpus,
        chosen.conversation_id,
        chosen.question_id,
        chosen.cutoff_kind,
        chosen.cutoff,
        chosen.repeat,
        chosen.label_set,
        chosen.category,
        chosen.abstained,
        chosen.chosen_text,
        case when chosen.right_option >= 0 then chosen.options[chosen.right_option + 1] end as right_text,
        chosen.unanswered
    from chosen
)

select
    compared.run_id,
    compared.cell,
    compared.corpus,
    compared.conversation_id,
    compared.question_id,
    compared.cutoff_kind,
    compared.cutoff,
    compared.repeat,
    'multiple_choice_accuracy' as metric,
    compared.label_set,
    compared.category,
    '' as judge,
    case
        when compared.unanswered is not null or compared.right_text is null then null
        when compared.chosen_text is not null then cast(compared.chosen_text = compared.right_text as double)
        when compared.abstained then 0.0
    end as value,
    case
        when compared.unanswered is not null then compared.unanswered
        when compared.right_text is null then 'no_right_option'
        when compared.chosen_text is null and not coalesce(compared.abstained, false) then 'unparsable_choice'
    end as reason
from compared;
