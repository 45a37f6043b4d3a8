"""Which cells a chart names and colours: all of a few; of many the compared pair, the bounds, the highest and the lowest."""

from memlake.transforms.report.data.document import Document

# Cells up to which each has its own colour and label: more of them cannot be told apart.
MOST = 12
_HIGHEST = 3


def looks(document: Document, corpus: str) -> dict[str, int | None]:
    """For each cell of a corpus its place among the colours and marks; None for one that is drawn faint, without a label."""
    means = [row for row in document["headline"]["means"] if row["corpus"] == corpus]
    everywhere = list(dict.fromkeys(row["cell"] for row in document["headline"]["means"]))
    if len(everywhere) <= MOST:
        # The same on every corpus, so that a reader may go from one figure to the next.
        return {row["cell"]: everywhere.index(row["cell"]) for row in means}
    if len(means) <= MOST:
        return {row["cell"]: place for place, row in enumerate(means)}
    pair = [
        cell for pair in document["headline"]["compared"] if pair["corpus"] == corpus for cell in (pair["a"], pair["b"])
    ]
    known = [row for row in means if row["value"] is not None and not row["control"]]
    ranked = [row["cell"] for row in sorted(known, key=lambda row: -row["value"])]
    bounds = [row["cell"] for row in means if row["control"]]
    named = list(dict.fromkeys([*pair, *ranked[:_HIGHEST], *ranked[-1:], *bounds]))
    return {row["cell"]: named.index(row["cell"]) if row["cell"] in named else None for row in means}


def named_only(document: Document, corpus: str) -> str:
    """What a caption says of the cells that are named; nothing where all are."""
    shown = looks(document, corpus)
    if None not in shown.values():
        return ""
    return (
        f" Of {len(shown)} cells the compared pair and the highest and lowest by the headline are in colour, the bounds in dark "
        "grey, the others pale; the table has all."
    )
