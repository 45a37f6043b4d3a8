-- What readers answered, at every cutoff.
-- grain: an answer
-- reads: answers, browsed
-- param: run_id: the run
select
    answers.cell,
    answers.corpus,
    answers.question_id,
    answers.cutoff_kind,
    answers.cutoff,
    answers.repeat,
    answers.text,
    answers.reason,
    answers.abstained
from answers
semi join browsed on answers.corpus = browsed.corpus and answers.question_id = browsed.question_id
where answers.run_id = $run_id
order by answers.corpus, answers.question_id, answers.cell, answers.cutoff_kind, answers.cutoff, answers.repeat;
