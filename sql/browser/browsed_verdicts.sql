-- What judges said of the answers, and where each wrong one was lost.
-- grain: a verdict
-- reads: judgements, losses, browsed
-- param: run_id: the run
select
    judgements.cell,
    judgements.corpus,
    judgements.question_id,
    judgements.cutoff_kind,
    judgements.cutoff,
    judgements.repeat,
    judgements.judge,
    judgements.judge_repeat,
    judgements.label_set,
    judgements.correct,
    judgements.reason,
    judgements.reply,
    losses.loss,
    losses.judge_disputed
from judgements
left join losses
    on
        judgements.run_id = losses.run_id
        and judgements.cell = losses.cell
        and judgements.corpus = losses.corpus
        and judgements.question_id = losses.question_id
        and judgements.cutoff_kind = losses.cutoff_kind
        and judgements.cutoff = losses.cutoff
        and judgements.repeat = losses.repeat
        and judgements.judge = losses.judge
        and judgements.label_set = losses.label_set
        and judgements.judge_repeat = losses.judge_repeat
semi join browsed on judgements.corpus = browsed.corpus and judgements.question_id = browsed.question_id
where judgements.run_id = $run_id
order by judgements.judge, judgements.label_set, judgements.judge_repeat;
