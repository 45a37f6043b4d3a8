-- Questions whose whole answer survives where the record is kept word for word, and does not where it is kept as
-- observations. stored_lost: it is not in the observations at all; else it is, and was not brought back.
-- grain: a question
-- reads: question_scores, questions, latest_study, cells
-- param: run_id: optional, the run; the latest study by default
-- param: representation: optional, the representation that lost it; observations by default
-- param: against: optional, a representation that kept it; chunks by default
-- param: tokens: optional, the token budget of the contexts; 0 compares whole stores; 1000 by default
-- param: label_set: optional, whose labels; official by default
with chosen as (
    select
        coalesce(cast($run_id as varchar), latest_study.run_id) as run_id,
        coalesce(cast($representation as varchar), 'observations') as lossy,
        coalesce(cast($against as varchar), 'chunks') as against,
        coalesce(cast($tokens as bigint), 1000) as tokens,
        coalesce(cast($label_set as varchar), 'official') as label_set
    from latest_study
),

-- Whether each cell of one representation has the whole answer: in its context, and in its store.
kept as (
    select
        question_scores.run_id,
        question_scores.corpus,
        question_scores.question_id,
        question_scores.label_set,
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
    inner join cells on question_scores.run_id = cells.run_id and question_scores.cell = cells.cell
    where
        len(cells.representations) = 1
        and (
            question_scores.cutoff_kind = 'none'
            or (question_scores.cutoff_kind = 'tokens' and question_scores.cutoff = chosen.tokens)
        )
    group by
        question_scores.run_id,
        question_scores.corpus,
        question_scores.question_id,
        question_scores.label_set,
        cells.representations[1]
),

lost as (
    select
        kept.corpus,
        kept.question_id,
        kept.label_set,
        bool_or(kept.representation = chosen.lossy and not kept.is_stored) as stored_lost,
        list_sort(list(kept.representation) filter (where kept.is_kept)) as kept_by
    from kept
    cross join chosen
    group by kept.corpus, kept.question_id, kept.label_set
    having
        bool_or(kept.representation = chosen.lossy and not kept.is_kept)
        and bool_or(kept.representation = chosen.against and kept.is_kept)
)

select
    questions.conversation_id,
    questions.question_id,
    questions.category,
    questions.text as question,
    questions.answer,
    lost.stored_lost,
    lost.kept_by
from lost
inner join questions
    on
        lost.corpus = questions.corpus
        and lost.question_id = questions.question_id
        and lost.label_set = questions.label_set
order by questions.conversation_id, questions.position;
