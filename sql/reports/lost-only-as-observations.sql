-- Questions that lose their answer only when the record is kept as observations: it survives whole in every
-- representation of the run that keeps the text word for word (or in the one named by against).
-- stored_lost: it is not in the observations at all; else it is, and was not brought back.
-- Question and answer are as of this snapshot, null where it holds none; --at the run's snapshot shows what was scored.
-- grain: a question
-- reads: question_scores, questions, latest_study, cells, representations
-- param: run_id: optional, the run (cells.run_id); the latest study by default
-- param: representation: optional, the representation that lost it (cells.representations); observations by default
-- param: against: optional, the one representation that kept it (cells.representations); every verbatim one by default
-- param: tokens: optional, the token budget of the contexts to compare; 0, whole stores, by default
-- param: label_set: optional, whose labels (scores.label_set); official by default
-- no rows: nothing was lost, or no such cell, budget or label set was measured; memlake study show RUN says what was
with chosen as (
    select
        coalesce(cast($run_id as varchar), latest_study.run_id) as run_id,
        coalesce(cast($representation as varchar), 'observations') as lossy,
        cast($against as varchar) as against,
        coalesce(cast($tokens as bigint), 0) as tokens,
        coalesce(cast($label_set as varchar), 'official') as label_set
    from latest_study
),

-- Whether each cell of one representation has the whole answer: in its context, and in its store.
kept as (
    select
        question_scores.run_id,
        question_scores.corpus,
        question_scores.conversation_id,
        question_scores.question_id,
        question_scores.label_set,
        question_scores.category,
        cells.representations[1] as representation,
        max(question_scores.store_survival_all) = 1 as is_stored,
        max(
            case
                when chosen.tokens = 0 then question_scores.store_survival_all
                else question_scores.answer_survival_all
            end
        ) = 1 as is_kept
    from question_scores
    inner join chosen
        on question_scores.run_id = chosen.run_id and question_scores.label_set = chosen.label_set
    inner join cells
        on
            question_scores.run_id = cells.run_id
            and question_scores.corpus = cells.corpus
            and question_scores.cell = cells.cell
    where
        len(cells.representations) = 1
        and (
            question_scores.cutoff_kind = 'none'
            or (question_scores.cutoff_kind = 'tokens' and question_scores.cutoff = chosen.tokens)
        )
    group by
        question_scores.run_id,
        question_scores.corpus,
        question_scores.conversation_id,
        question_scores.question_id,
        question_scores.label_set,
        question_scores.category,
        cells.representations[1]
),

-- Whom the lossy one is compared with.
witnesses as (
    select representations.representation
    from representations
    cross join chosen
    where
        case
            when chosen.against is null then representations.kind in ('chunks', 'turns', 'sentences', 'sessions')
            else representations.representation = chosen.against
        end
),

lost as (
    select
        kept.corpus,
        kept.conversation_id,
        kept.question_id,
        kept.label_set,
        kept.category,
        bool_or(kept.representation = chosen.lossy and not kept.is_stored) as stored_lost,
        list_sort(list(kept.representation) filter (where kept.is_kept)) as kept_by
    from kept
    cross join chosen
    left join witnesses on kept.representation = witnesses.representation
    group by kept.corpus, kept.conversation_id, kept.question_id, kept.label_set, kept.category
    having
        bool_or(kept.representation = chosen.lossy and not kept.is_kept)
        and bool_and(kept.is_kept) filter (where witnesses.representation is not null)
)

select
    lost.corpus,
    lost.conversation_id,
    lost.question_id,
    lost.category,
    questions.text as question,
    questions.answer,
    lost.stored_lost,
    lost.kept_by
from lost
left join questions
    on
        lost.corpus = questions.corpus
        and lost.question_id = questions.question_id
        and lost.label_set = questions.label_set
order by lost.corpus, lost.conversation_id, questions.position, lost.question_id;
