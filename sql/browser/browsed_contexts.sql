-- The context of each question at the cutoff that is shown of the cell; its text where its units do not say it all.
-- grain: a question in a cell
-- reads: contexts, browsed, browsed_cells
-- param: run_id: the run
select
    contexts.cell,
    contexts.corpus,
    contexts.question_id,
    contexts.units,
    contexts.tokens,
    contexts.content_tokens,
    case when not browsed_cells.whole then contexts.text end as text,
    not browsed_cells.whole and contexts.text is null as text_gone
from contexts
inner join browsed_cells
    on
        contexts.cell = browsed_cells.cell
        and contexts.corpus = browsed_cells.corpus
        and contexts.cutoff_kind = browsed_cells.cutoff_kind
        and contexts.cutoff = browsed_cells.cutoff
semi join browsed on contexts.corpus = browsed.corpus and contexts.question_id = browsed.question_id
where contexts.run_id = $run_id;
