"""The metrics that a run is scored by: a card each, from which SQL columns, statistics, charts and words come."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; a file of sql/scores/ or a function of transforms/score/scores.py computes it.

    Attributes:
        name: as `scores` has it; a column of the view question_scores.
        title: heads its tables and charts.
        about: what a report says of it where it is the headline.
        of: what is measured: a whole store, a context, an answer, or a judge's verdict on an answer.
        cutoffs: the kinds of cutoff at which it is scored; 'none' is the whole store.
        yes_or_no: whether one answer has 0 or 1, which is what McNemar's test is for; else it is continuous.
        highest: its highest value; the lowest is 0.
        direction: which end is better.
        table: its place among the tables of `memlake study show`; None for none.
        figure: its place among a report's figures against tokens; None for none, but where it is the headline.
    """

    name: str
    title: str
    about: str
    of: Literal["store", "context", "answer", "verdict"]
    cutoffs: tuple[str, ...] = ("tokens", "k")
    yes_or_no: bool = False
    highest: float = 1.0
    direction: Literal["higher is better", "lower is better", "neither end is better"] = "higher is better"
    table: int | None = None
    figure: int | None = None

    @property
    def is_of_readers(self) -> bool:
        """Whether only a reader's answer has it: another reader is another number."""
        return self.of in ("answer", "verdict")


_TOUCHES = "A unit touches a turn that it was made from, whether or not it kept what the turn says."
_SURVIVAL = (
    "Survival counts whether the words of the gold answer are in the text that a reader would see. It is not accuracy: a reader "
    "may still miss them, and a long text holds many words by chance, so it is shown against tokens and beside a random context."
)
_RANKED = "A unit is relevant when it touches a gold turn; a context that holds fewer units has none beyond them."
_F1 = "F1 over words, stemmed where they are English, with the accepted answer that gives most."
_BEST = "Each answer is compared with the accepted answer that gives most; other words for the same thing score low."

# In the order of the columns of question_scores.
METRICS: dict[str, Metric] = {
    card.name: card
    for card in (
        Metric(
            "evidence_recall_any", "Questions with a gold turn that the context touches", _TOUCHES, "context",
            yes_or_no=True,
        ),
        Metric(
            "evidence_recall_all", "Questions whose every gold turn the context touches", _TOUCHES, "context",
            yes_or_no=True,
        ),
        Metric(
            "evidence_recall_fraction", "Gold turns that the context touches", _TOUCHES, "context", table=5, figure=6,
        ),
        Metric(
            "evidence_precision", "Share of the context's source text that lies in gold turns",
            "It is of units that are shown whole and whose place in the transcript is known.", "context",
        ),
        Metric("answer_survival_share", "Share of the answer's words in the context", _SURVIVAL, "context", figure=5),
        Metric(
            "answer_survival_all", "Answers of which every word is in the context", _SURVIVAL, "context",
            yes_or_no=True, table=4, figure=4,
        ),
        Metric("store_survival_share", "Share of the answer's words in the store", _SURVIVAL, "store", ("none",)),
        Metric(
            "store_survival_all", "Answers of which every word is in the store", _SURVIVAL, "store", ("none",),
            yes_or_no=True, table=6,
        ),
        Metric("mrr", "One over the rank of the first relevant unit", _RANKED, "context", ("k",)),
        Metric("ndcg", "Relevant units, discounted by rank (nDCG)", _RANKED, "context", ("k",)),
        Metric("token_f1", "Words shared by answer and gold answer (F1)", _F1, "answer", table=2, figure=7),
        Metric("token_f1_plain", "Words shared by answer and gold answer (F1), whatever the benchmark", _F1, "answer"),
        Metric(
            "exact_match", "Answers that are the gold answer",
            "Case, punctuation and articles aside, as SQuAD's evaluation compares.", "answer", yes_or_no=True,
        ),
        Metric("bleu", "BLEU of the answer against the gold answer", _BEST, "answer", highest=100.0),
        Metric("rouge_l", "Longest run of words shared with the gold answer (ROUGE-L)", _BEST, "answer"),
        Metric(
            "abstained", "Answers that say that there is none to be found",
            "Whether it was right to say so is counted by abstention_right.", "answer",
            yes_or_no=True, direction="neither end is better",
        ),
        Metric(
            "abstention_right", "Answers that abstain just where there is no answer",
            "A reader that never abstains is right wherever there is an answer.", "answer", yes_or_no=True,
        ),
        Metric(
            "multiple_choice_accuracy", "Choices that are the right one",
            "An answer that abstains chooses nothing, which is wrong.", "answer", yes_or_no=True, table=3, figure=3,
        ),
        Metric(
            "judge_accuracy", "Answers that a judge calls correct",
            "A verdict that failed is neither right nor wrong, and left out.", "verdict",
            yes_or_no=True, table=1, figure=1,
        ),
        Metric(
            "judge_accuracy_published", "Answers called correct, as published scorers count",
            "Where the judge failed, token F1 or the benchmark's own rule decides: to reproduce a published number, and "
            "for nothing else.", "verdict", yes_or_no=True, figure=2,
        ),
    )
}  # fmt: skip


def metric_comments() -> dict[str, str]:
    """Each card in one line, as the comment of its column."""
    return {
        card.name: f"{card.title}; {'yes or no' if card.yes_or_no else f'0 to {card.highest:g}'}, {card.direction}; "
        f"of each {card.of}, cutoff {' or '.join(card.cutoffs)}"
        for card in METRICS.values()
    }
