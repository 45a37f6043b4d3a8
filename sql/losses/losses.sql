-- Where each answer that a judge calls wrong was lost: the first place at which a word of the gold answer is missing.
-- Asked after are its content tokens that occur in the conversation: no memory could hold the others. Where it has no
-- content tokens the gold turns of the question are asked after, and where it has none either, any unit at all.
-- grain: a judgement that calls an answer wrong
-- reads: judged_answers, questions, searched, cells, contexts, unit_tokens, source_tokens, matches, by_turn, unlike
-- param: run_id: the run
with wrong as (
    select
        judged_answers.run_id,
        judged_answers.cell,
        judged_answers.corpus,
        judged_answers.conversation_id,
        judged_answers.question_id,
        judged_answers.cutoff_kind,
        judged_answers.cutoff,
        judged_answers.repeat,
        judged_answers.judge,
        judged_answers.label_set,
        judged_answers.judge_repeat,
        judged_answers.category,
        judged_answers.answerable,
        coalesce(judged_answers.abstained, false) as abstained
    from judged_answers
    where judged_answers.run_id = $run_id and judged_answers.correct = false
),

answer_words as (
    select distinct
        questions.corpus,
        questions.conversation_id,
        questions.question_id,
        questions.label_set,
        unnest(questions.answer_tokens) as token
    from questions
    semi join wrong
        on
            questions.corpus = wrong.corpus
            and questions.question_id = wrong.question_id
            and questions.label_set = wrong.label_set
),

wanted as materialized (
    select
        answer_words.corpus,
        answer_words.conversation_id,
        answer_words.question_id,
        answer_words.label_set,
        answer_words.token
    from answer_words
    semi join source_tokens
        on
            answer_words.corpus = source_tokens.corpus
            and answer_words.conversation_id = source_tokens.conversation_id
            and answer_words.token = source_tokens.token
),

in_source as (
    select
        wanted.corpus,
        wanted.question_id,
        wanted.label_set,
        list(wanted.token) as tokens
    from wanted
    group by wanted.corpus, wanted.question_id, wanted.label_set
),

stored as (
    select
        searched.cell,
        wanted.corpus,
        wanted.question_id,
        wanted.label_set,
        list(distinct wanted.token) as tokens
    from wanted
    inner join unit_tokens
        on
            wanted.corpus = unit_tokens.corpus
            and wanted.conversation_id = unit_tokens.conversation_id
            and wanted.token = unit_tokens.token
    inner join searched
        on unit_tokens.corpus = searched.corpus and unit_tokens.representation = searched.representation
    where searched.run_id = $run_id
    group by searched.cell, wanted.corpus, wanted.question_id, wanted.label_set
),

-- The candidate list is a context of its own, whatever a plan packs. What a context shows counts as retrieved and
-- stored in any case: it may be longer than that one, or show the turns behind a unit instead of its own text.
candidates as (
    select
        contexts.cell,
        contexts.corpus,
        contexts.question_id,
        contexts.units,
        contexts.content_tokens
    from contexts
    inner join cells
        on contexts.run_id = cells.run_id and contexts.cell = cells.cell and contexts.corpus = cells.corpus
    where
        contexts.run_id = $run_id
        and contexts.cutoff_kind = 'candidates'
        and contexts.cutoff = cast(json_extract_string(cells.settings, '$.depth') as bigint)
),

counted as (
    select
        wrong.run_id,
        wrong.cell,
        wrong.corpus,
        wrong.conversation_id,
        wrong.question_id,
        wrong.cutoff_kind,
        wrong.cutoff,
        wrong.repeat,
        wrong.judge,
        wrong.label_set,
        wrong.judge_repeat,
        wrong.category,
        wrong.answerable,
        wrong.abstained,
        coalesce(len(in_source.tokens), 0) as wanted,
        tokens_found_in_any(
            in_source.tokens, stored.tokens, candidates.content_tokens, contexts.content_tokens
        ) as stored,
        candidates.content_tokens is not null as has_candidates,
        tokens_found_in_any(in_source.tokens, [], candidates.content_tokens, contexts.content_tokens) as retrieved,
        tokens_found(in_source.tokens, contexts.content_tokens) as shown,
        by_turn.question_id is not null as is_wordless,
        by_turn.wanted as turns_wanted,
        by_turn.stored as turns_stored,
        by_turn.ranks as turn_ranks,
        greatest(candidates.units, contexts.units) as units_listed,
        contexts.units as units_shown
    from wrong
    left join in_source
        on
            wrong.corpus = in_source.corpus
            and wrong.question_id = in_source.question_id
            and wrong.label_set = in_source.label_set
    left join stored
        on
            wrong.cell = stored.cell
            and wrong.corpus = stored.corpus
            and wrong.question_id = stored.question_id
            and wrong.label_set = stored.label_set
    left join candidates
        on
            wrong.cell = candidates.cell
            and wrong.corpus = candidates.corpus
            and wrong.question_id = candidates.question_id
    left join contexts
        on
            wrong.run_id = contexts.run_id
            and wrong.cell = contexts.cell
            and wrong.corpus = contexts.corpus
            and wrong.question_id = contexts.question_id
            and wrong.cutoff_kind = contexts.cutoff_kind
            and wrong.cutoff = contexts.cutoff
    left join by_turn
        on
            wrong.cell = by_turn.cell
            and wrong.corpus = by_turn.corpus
            and wrong.question_id = by_turn.question_id
            and wrong.label_set = by_turn.label_set
),

asked_after as (
    select
        counted.run_id,
        counted.cell,
        counted.corpus,
        counted.conversation_id,
        counted.question_id,
        counted.cutoff_kind,
        counted.cutoff,
        counted.repeat,
        counted.judge,
        counted.label_set,
        counted.judge_repeat,
        counted.category,
        counted.answerable,
        counted.abstained,
        counted.has_candidates,
        case when counted.is_wordless then greatest(counted.turns_wanted, 1) else counted.wanted end as wanted,
        case
            when not counted.is_wordless then counted.stored
            when counted.turns_wanted = 0 then 1
            else counted.turns_stored
        end as stored,
        case
            when not counted.is_wordless then counted.retrieved
            when counted.turns_wanted = 0 then cast(counted.units_listed > 0 as bigint)
            else ranks_within(counted.turn_ranks, counted.units_listed)
        end as retrieved,
        case
            when not counted.is_wordless then counted.shown
            when counted.turns_wanted = 0 then cast(counted.units_shown > 0 as bigint)
            else ranks_within(counted.turn_ranks, counted.units_shown)
        end as shown
    from counted
),

-- Judges that call the same answer correct, in any of their repeats; not those whose verdict is on something else.
approving as (
    select
        judged_answers.cell,
        judged_answers.corpus,
        judged_answers.question_id,
        judged_answers.cutoff_kind,
        judged_answers.cutoff,
        judged_answers.repeat,
        judged_answers.label_set,
        list(distinct judged_answers.judge) as judges
    from judged_answers
    anti join unlike on judged_answers.judge = unlike.judge
    where judged_answers.run_id = $run_id and judged_answers.correct
    group by
        judged_answers.cell,
        judged_answers.corpus,
        judged_answers.question_id,
        judged_answers.cutoff_kind,
        judged_answers.cutoff,
        judged_answers.repeat,
        judged_answers.label_set
)

select
    asked_after.run_id,
    asked_after.cell,
    asked_after.corpus,
    asked_after.conversation_id,
    asked_after.question_id,
    asked_after.cutoff_kind,
    asked_after.cutoff,
    asked_after.repeat,
    asked_after.judge,
    asked_after.label_set,
    asked_after.judge_repeat,
    asked_after.category,
    case
        when not asked_after.answerable and not asked_after.abstained then 'failed_abstention'
        -- It says that there is no answer, as it should, and is called wrong: nothing was lost before the judge.
        when not asked_after.answerable then 'misread'
        when asked_after.wanted = 0 then 'not_in_source'
        when asked_after.stored < asked_after.wanted then 'not_stored'
        when not asked_after.has_candidates then null
        when asked_after.retrieved < asked_after.wanted then 'not_retrieved'
        when asked_after.shown < asked_after.wanted then 'packed_out'
        else 'misread'
    end as loss,
    coalesce(matches.matched, false)
    or coalesce(
        len(approving.judges) > cast(list_contains(approving.judges, asked_after.judge) as integer), false
    ) as judge_disputed
from asked_after
left join approving
    on
        asked_after.cell = approving.cell
        and asked_after.corpus = approving.corpus
        and asked_after.question_id = approving.question_id
        and asked_after.cutoff_kind = approving.cutoff_kind
        and asked_after.cutoff = approving.cutoff
        and asked_after.repeat = approving.repeat
        and asked_after.label_set = approving.label_set
left join matches
    on
        asked_after.run_id = matches.run_id
        and asked_after.cell = matches.cell
        and asked_after.corpus = matches.corpus
        and asked_after.question_id = matches.question_id
        and asked_after.cutoff_kind = matches.cutoff_kind
        and asked_after.cutoff = matches.cutoff
        and asked_after.repeat = matches.repeat
        and asked_after.label_set = matches.label_set;
