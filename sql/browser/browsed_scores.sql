-- The scores at the cutoff that is shown of the cell, and of its store. Of judges only what the one that counts says of
-- the headline's metric: verdicts stand beside their answers.
-- grain: a metric of a question in a cell, by one judge where it has one
-- reads: scores, browsed_cells, browsed_questions
-- param: run_id: the run
-- param: metric: the headline's
select
    scores.cell,
    scores.corpus,
    scores.question_id,
    scores.metric,
    scores.judge,
    avg(scores.value) as value,
    arg_min(scores.reason, scores.repeat) filter (where scores.value is null) as reason
from scores
inner join browsed_cells on scores.cell = browsed_cells.cell and scores.corpus = browsed_cells.corpus
inner join browsed_questions
    on
        scores.corpus = browsed_questions.corpus
        and scores.question_id = browsed_questions.question_id
        and scores.label_set = browsed_questions.label_set
where
    scores.run_id = $run_id
    and (
        (scores.cutoff_kind = browsed_cells.cutoff_kind and scores.cutoff = browsed_cells.cutoff)
        or scores.cutoff_kind = 'none'
    )
    and (scores.judge = '' or (scores.judge = browsed_cells.judge and scores.metric = $metric))
group by scores.cell, scores.corpus, scores.question_id, scores.metric, scores.judge;
