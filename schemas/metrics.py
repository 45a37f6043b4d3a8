"""The metrics that a run is scored by; the view question_scores has a column for each."""

# Of what a store keeps, whatever is retrieved: at the cutoff 'none'.
OF_STORES = ("store_survival_share", "store_survival_all")
# Of ranked lists and contexts.
OF_CONTEXTS = (
    "evidence_recall_any", "evidence_recall_all", "evidence_recall_fraction", "evidence_precision", "mrr", "ndcg",
    "answer_survival_share", "answer_survival_all",
)  # fmt: skip
# Of answers, where a reader is asked.
OF_ANSWERS = (
    "token_f1", "token_f1_plain", "exact_match", "bleu", "rouge_l", "multiple_choice_accuracy", "abstained",
    "abstention_right",
)  # fmt: skip
# Of verdicts, by one judge each.
OF_VERDICTS = ("judge_accuracy", "judge_accuracy_published")
METRICS = (*OF_STORES, *OF_CONTEXTS, *OF_ANSWERS, *OF_VERDICTS)
