-- Tokens of the evidence that each question is shown, by the study's own tokeniser.
-- grain: a question in a cell at one cutoff
-- reads: contexts
-- param: run_id: the run
select
    contexts.corpus,
    contexts.cell,
    contexts.cutoff_kind,
    contexts.cutoff,
    contexts.conversation_id,
    contexts.question_id,
    contexts.tokens,
    contexts.tokeniser
from contexts
where contexts.run_id = $run_id and contexts.cutoff_kind <> 'candidates';
