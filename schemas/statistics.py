"""statistics: what the scores of a run say, with intervals and tests."""

from memlake.schemas.question_columns import CUTOFF
from memlake.schemas.table import FLOAT, INT, STRING, Table, column

STATISTICS = Table(
    name="statistics",
    grain="a statistic of one metric over one cell, or between two cells, of a run on one slice of questions",
    key=(
        "run_id",
        "corpus",
        "statistic",
        "metric",
        "cutoff_kind",
        "cutoff",
        "label_set",
        "judge",
        "cell_a",
        "cell_b",
        "comparison",
        "slice",
    ),
    version=2,
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("corpus", STRING, "the corpus of the questions"),
        column(
            "statistic",
            STRING,
            "mean, macro_mean (over conversations), difference (of means, a - b, paired by question), shift (of one "
            "comparison's difference against another's), mcnemar, kappa (of two judges, named in `judge` as ONE|OTHER), "
            "flip_rate (of a judge between its repeats), sd_extraction, sd_reader, sd_judge (between repeats), var_question, "
            "var_extraction, var_reader, var_judge (variance components), or a cost: usd_*, tokens_*, seconds_*",
        ),
        column("metric", STRING, "the metric's name"),
        *CUTOFF,
        column("label_set", STRING, "the labels that it was scored against; '' where none"),
        column("judge", STRING, "the judge; '' where none"),
        column(
            "cell_a",
            STRING,
            "the cell; '' for all of them together; ONE|OTHER for cells that repeat an extraction; for a shift the comparison",
        ),
        column(
            "cell_b",
            STRING,
            "the cell that it is compared with, for a shift the other comparison; '' for a single cell",
        ),
        column("comparison", STRING, "the study's comparison; '' where none"),
        column("slice", STRING, "which questions: all, or category=NAME"),
        column("n", INT, "how many questions were scored (in both cells)"),
        column("excluded_a", INT, "questions that were not scored in cell_a"),
        column("excluded_b", INT, "questions that were not scored in cell_b; 0 for a single cell"),
        column("clusters", INT, "conversations that these questions belong to"),
        column("value", FLOAT, "the statistic", null=True),
        column("low", FLOAT, "lower end of its 95 % interval", null=True),
        column("high", FLOAT, "upper end of its 95 % interval", null=True),
        column(
            "only_a",
            INT,
            "questions that only cell_a has right; null but for two cells and a yes-or-no metric",
            null=True,
        ),
        column("only_b", INT, "questions that only cell_b has right", null=True),
        column(
            "detectable",
            FLOAT,
            "the smallest true difference that this test would find 4 times in 5; null but for differences and shifts",
            null=True,
        ),
        column("p", FLOAT, "p value of the test; null where there is none", null=True),
        column("p_holm", FLOAT, "the same after Holm's correction over the study's declared family", null=True),
        column("method", STRING, "how interval and p value were computed, with the seed"),
        column("note", STRING, "what to bear in mind: few_clusters, no_variance, no_scores, no_model, ...", null=True),
    ),
)
