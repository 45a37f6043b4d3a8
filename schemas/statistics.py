"""statistics: what the scores of a run say, with intervals and tests."""

from schemas.table import FLOAT, INT, STRING, Table, column

STATISTICS = Table(
    name="statistics",
    grain="a statistic of one metric over one cell, or between two cells, of a run on one slice of questions",
    key=("run_id", "metric", "cell_a", "cell_b", "slice"),
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("metric", STRING, "metric, cutoff and label set, as one name"),
        column("cell_a", STRING, "the cell"),
        column("cell_b", STRING, "the cell that it is compared with; '' for a single cell"),
        column("slice", STRING, "which questions: all, or category=NAME"),
        column("n", INT, "how many questions were scored (in both cells)"),
        column("excluded", INT, "how many were not"),
        column("value", FLOAT, "the mean, or the difference of means a - b", null=True),
        column("low", FLOAT, "lower end of the 95 % interval", null=True),
        column("high", FLOAT, "upper end of the 95 % interval", null=True),
        column("p", FLOAT, "p value of the paired test; null for a single cell", null=True),
        column("method", STRING, "how interval and p value were computed, with the seed"),
    ),
)
