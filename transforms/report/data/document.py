"""The report of a run as data: what its page shows, and what `memlake report --json` prints. Keys are stable."""

from typing import Any, Literal, TypedDict

Agrees = Literal["within", "outside", "not comparable", ""]
Row = dict[str, Any]


class Number(TypedDict):
    """A number as `statistics` holds it; `excluded` questions were asked and not scored, `note` says what to bear in mind."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    excluded: int
    clusters: int
    note: str | None


class At(TypedDict):
    """Which number it is: a metric at a cutoff, under one label set, by one judge ('' where none judges)."""

    metric: str
    cutoff_kind: str
    cutoff: int
    label_set: str
    judge: str


class RunCard(TypedDict):
    """What was run, and what it read. `excluded` is by reason; `settings` are those that change what a study compares."""

    run_id: str
    study: str
    corpora: list[str]
    read_snapshot_id: str
    snapshot_id: str | None
    ended_at: str | None
    code_version: str | None
    settings: Row
    embedder: str
    tokeniser: str
    readers: list[Row]
    judges: list[Row]
    cells: list[Row]
    questions: int
    excluded: dict[str, int]
    forgotten: int
    models: Row | None
    seconds: float | None


class Compared(TypedDict):
    """A comparison of the study on one corpus: the difference a - b, its tests, and what was published of it.

    Attributes:
        mean_a, mean_b: of each cell at the same measure, over all its questions, whatever `categories` are compared.
        categories: of which questions alone it is; empty for all.
        mcnemar_p, mcnemar_p_holm: of McNemar's test; null where the metric is not yes or no.
        shift: how far this difference lies from that of the comparison `against`; null where it is against none.
        agrees: whether the published difference lies within our interval; `why` says why it cannot be said.
    """

    name: str
    corpus: str
    a: str
    b: str
    at: At
    categories: list[str]
    defect: str
    difference: Number
    mean_a: Number
    mean_b: Number
    excluded_b: int
    detectable: float | None
    p: float | None
    p_holm: float | None
    only_a: int | None
    only_b: int | None
    mcnemar_p: float | None
    mcnemar_p_holm: float | None
    against: str
    shift: Number | None
    shift_p: float | None
    published: float | None
    source: str
    agrees: Agrees
    why: str


class Headline(TypedDict):
    """On each corpus the comparison that the study lists first, and every cell's mean at the headline's measure."""

    at: At
    compared: list[Compared]
    means: list[Row]


class Dial(TypedDict):
    """One comparison over the corpora of a dial; `crossings` are where it changes sign, by linear interpolation."""

    comparison: str
    a: str
    b: str
    at: At
    points: list[Row]
    crossings: list[float]


class Costs(TypedDict):
    """Rows of costs, each cell's mean beside its costs at the same measure, and points, whose `x` names their cost."""

    rows: list[Row]
    cells: list[Row]
    points: list[Row]


class Browser(TypedDict):
    """What each cell stored, found and answered for each question; see transforms/report/data/browser.py for its parts."""

    questions: int
    kept: int
    forgotten: int
    at: At
    cells: list[Row]
    representations: list[str]
    metrics: list[str]
    conversations: list[Row]


class Document(TypedDict):
    """The whole report."""

    run: RunCard
    headline: Headline
    curves: list[Row]
    categories: list[Row]
    losses: list[Row]
    survival_split: list[Row]
    costs: Costs
    controls: list[Compared]
    published: list[Row]
    dials: list[Dial]
    agreement: list[Row]
    variance: list[Row]
    notes: list[str]
    browser: Browser
