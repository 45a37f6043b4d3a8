"""The browser of a page: its controls as markup, and its data as blocks that the page's script parses when they are needed."""

from typing import Any

from markupsafe import Markup

from memlake.transforms.base.jsonable import json_text
from memlake.transforms.report.data.document import Browser, Document, Row
from memlake.transforms.report.page import html


def browser(document: Document) -> Markup:
    """Search, filters, a list and the place of one question."""
    found = document["browser"]
    at = html.at_name(found["at"])
    kept = f"{found['kept']:,} of {found['questions']:,} questions are kept here, those on which cells differ first"
    some = kept if found["kept"] < found["questions"] else f"All {found['questions']:,} questions"
    gone = f"; {found['forgotten']:,} left out, since their conversations were forgotten" if found["forgotten"] else ""
    order = ", ".join(cell["cell"] for cell in found["cells"])
    return html.section(
        "browser",
        "Question by question",
        html.remark(
            f"{some}{gone}. For each: the gold turns, what every representation stored of them with the lost words struck "
            f"through, its rank, the context, the answer and the verdict. 'Right' is {at} above 0.5. A word is "
            "lost when none of the units that touch the turn has it.",
        ),
        html.el("noscript", html.empty("The browser needs the script in this file; it loads nothing from anywhere.")),
        _form(document),
        html.remark(
            f"Beside a question stands a sign for each cell, in the order {order}: 1 right, 0 wrong, - not scored.",
        ),
        html.el("ol", id="b-list", aria_label="Questions found"),
        html.el("article", id="b-question", tabindex="-1", aria_label="The question"),
    )


def _form(document: Document) -> Markup:
    found = document["browser"]
    conversations = found["conversations"]
    categories = {question["category"] for asked in conversations for question in asked["questions"]}
    cells = [str(cell["cell"]) for cell in found["cells"]]
    losses = [(name, html.LOSSES.get(name, name)) for name in _losses(found)]
    corpora = list(dict.fromkeys(str(asked["corpus"]) for asked in conversations))
    return html.el(
        "form",
        html.el(
            "label", html.el("span", "Search"), html.void("input", type="search", id="b-search", autocomplete="off")
        ),
        _select("b-corpus", "Corpus", [(name, name) for name in corpora]) if len(corpora) > 1 else None,
        _select("b-category", "Category", [(name, name) for name in sorted(categories)]),
        _select("b-right", "Right in", [(str(place), cell) for place, cell in enumerate(cells)]),
        _select("b-wrong", "Wrong in", [(str(place), cell) for place, cell in enumerate(cells)]),
        _select("b-loss", "Lost (in the wrong one, or in any)", losses) if losses else None,
        html.el(
            "div",
            html.el("button", "Previous", type="button", id="b-previous"),
            html.el("button", "Next", type="button", id="b-next"),
            html.el("output", id="b-count", aria_live="polite"),
            class_="steps",
        ),
        id="b-form",
    )


def _select(identifier: str, label: str, options: list[tuple[str, str]]) -> Markup:
    listed = [
        html.el("option", "any", value=""),
        *(html.el("option", said or "(none)", value=value) for value, said in options),
    ]
    return html.el("label", html.el("span", label), html.el("select", *listed, id=identifier))


def data(document: Document) -> Markup:
    """The data blocks: an index of all questions, and one block a conversation."""
    found = document["browser"]
    conversations, losses = found["conversations"], _losses(found)
    index = {
        "cells": [
            {**cell, "control": html.CONTROLS.get(cell["control"], ""), "at": html.cutoff_name(cell)}
            for cell in found["cells"]
        ],
        "representations": found["representations"],
        "metrics": found["metrics"],
        "losses": losses,
        "lossNames": html.LOSSES,
        "conversations": [[asked["corpus"], asked["conversation_id"]] for asked in conversations],
        "questions": [
            [
                place,
                number,
                question["question_id"],
                question["category"],
                question["text"],
                *_outcomes(question, found, losses),
            ]
            for place, asked in enumerate(conversations)
            for number, question in enumerate(asked["questions"])
        ],
    }
    blocks = [
        html.data_block(f"conversation-{place}", json_text(asked).strip()) for place, asked in enumerate(conversations)
    ]
    return html.join(html.data_block("report-index", json_text(index).strip()), *blocks)


def _outcomes(question: Row, found: Browser, losses: list[str]) -> tuple[str, list[list[int]]]:
    """A sign a cell (1 right, 0 wrong, - not scored, a space where it was not asked), and each cell's losses."""
    signs, lost = [], []
    for place in range(len(found["cells"])):
        cell: dict[str, Any] | None = question["cells"].get(str(place))
        signs.append(" " if cell is None else {True: "1", False: "0", None: "-"}[cell["right"]])
        held = {verdict["loss"] for verdict in _verdicts(cell or {}) if verdict.get("loss")}
        lost.append(sorted(losses.index(name) for name in held))
    return "".join(signs), lost if any(lost) else []


def _losses(found: Browser) -> list[str]:
    """The loss classes that occur, in the order in which an answer may be lost."""
    held = {
        verdict["loss"]
        for asked in found["conversations"]
        for question in asked["questions"]
        for cell in question["cells"].values()
        for verdict in _verdicts(cell)
        if verdict.get("loss")
    }
    return sorted(
        held, key=lambda name: (list(html.LOSSES).index(name) if name in html.LOSSES else len(html.LOSSES), name)
    )


def _verdicts(cell: Row) -> list[Row]:
    return [verdict for answer in cell.get("answers", ()) for verdict in answer.get("verdicts", ())]
