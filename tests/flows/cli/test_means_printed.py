"""The tables of `memlake study show`, laid out from a run's means."""

from memlake.flows.cli.printing.studies import layout, shown


def mean(cell, cutoff, value, *, kind="tokens", n=4, reasons=None, corpus="c", metric="answer_survival_all"):
    return {
        "corpus": corpus, "cell": cell, "metric": metric, "cutoff_kind": kind, "cutoff": cutoff, "label_set": "official",
        "judge": "", "category": None, "mean": value, "n": n, "excluded": 4 - n, "reasons": reasons,
    }  # fmt: skip


def found(*means, corpora=("c",)):
    return {
        "run_id": "r", "study": "s", "corpora": list(corpora), "questions": 4, "forgotten": 0, "means": list(means),
        "published": [], "empty_contexts": [],
    }  # fmt: skip


def test_a_cell_that_ends_at_other_budgets_has_its_own_columns_and_every_row_the_same_ones(capsys):
    run = found(mean("a", 100, 0.5), mean("a", 3, 0.25, kind="k"), mean("b", 1000, 1.0))
    ((title, rows),) = layout(run)
    assert title == "Answers of which every word is in the context (answer_survival_all, labels: official)"
    assert rows == [
        {"cell": "a", "100 tokens": 0.5, "1,000 tokens": None, "first 3": 0.25, "n": 4, "excluded": 0},
        {"cell": "b", "100 tokens": None, "1,000 tokens": 1.0, "first 3": None, "n": 4, "excluded": 0},
    ]
    shown(run)
    assert "b           null         1.000     null  4         0" in capsys.readouterr().out


def test_counts_that_differ_by_budget_are_a_range_and_questions_are_excluded_once(capsys):
    left = {"n": 3, "reasons": {"unanswerable": 1}}
    run = found(
        mean("a", 100, 0.5, **left), mean("a", 500, 0.5), mean("a", 100, 0.5, corpus="d", **left), corpora=("c", "d")
    )
    (_, rows), _ = layout(run)
    assert (rows[0]["n"], rows[0]["excluded"]) == ("3 to 4", "0 to 1")
    shown(run)
    assert "excluded: 2 questions, unanswerable" in capsys.readouterr().out
