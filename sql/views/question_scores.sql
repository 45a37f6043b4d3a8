-- Every score of a question side by side: a column a metric, null where it was not scored or has another cutoff.
-- grain: a question in a cell at one cutoff and repeat, under one label set and judge
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
    max(scores.value) filter (where scores.metric = 'ndcg') as ndcg,
    max(scores.value) filter (where scores.metric = 'token_f1') as token_f1,
    max(scores.value) filter (where scores.metric = 'token_f1_plain') as token_f1_plain,
    max(scores.value) filter (where scores.metric = 'exact_match') as exact_match,
    max(scores.value) filter (where scores.metric = 'bleu') as bleu,
    max(scores.value) filter (where scores.metric = 'rouge_l') as rouge_l,
    max(scores.value) filter (where scores.metric = 'abstained') as abstained,
    max(scores.value) filter (where scores.metric = 'abstention_right') as abstention_right,
    max(scores.value) filter (where scores.metric = 'multiple_choice_accuracy') as multiple_choice_accuracy,
    max(scores.value) filter (where scores.metric = 'judge_accuracy') as judge_accuracy,
    max(scores.value) filter (where scores.metric = 'judge_accuracy_published') as judge_accuracy_published
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
