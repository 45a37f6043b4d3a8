-- Every score of a question side by side: a column a metric, null where it was not scored or has another cutoff.
-- grain: a question in a cell at one cutoff, under one label set and judge
-- reads: scores
create or replace temp view question_scores as
select
    scores.run_id,
    scores.cell,
    scores.corpus,
    scores.conversation_id,
    scores.question_id,
    scores.category,
    scores.cutoff_kind,
    scores.cutoff,
    scores.repeat,
    scores.label_set,
    scores.judge,
    max(scores.value) filter (where scores.metric = 'evidence_recall_any') as evidence_recall_any,
    max(scores.value) filter (where scores.metric = 'evidence_recall_all') as evidence_recall_all,
    max(scores.value) filter (where scores.metric = 'evidence_recall_fraction') as evidence_recall_fraction,
    max(scores.value) filter (where scores.metric = 'evidence_precision') as evidence_precision,
    max(scores.value) filter (where scores.metric = 'answer_survival_share') as answer_survival_share,
    max(scores.value) filter (where scores.metric = 'answer_survival_all') as answer_survival_all,
    max(scores.value) filter (where scores.metric = 'store_survival_share') as store_survival_share,
    max(scores.value) filter (where scores.metric = 'store_survival_all') as store_survival_all,
    max(scores.value) filter (where scores.metric = 'mrr') as mrr,
    max(scores.value) filter (where scores.metric = 'ndcg') as ndcg
from scores
group by
    scores.run_id,
    scores.cell,
    scores.corpus,
    scores.conversation_id,
    scores.question_id,
    scores.category,
    scores.cutoff_kind,
    scores.cutoff,
    scores.repeat,
    scores.label_set,
    scores.judge;
