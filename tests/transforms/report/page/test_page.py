"""The page: one file that loads nothing and runs its own script alone, whatever the transcripts say."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from reported_runs import HOSTILE, reported

from memlake.flows.report import SUFFIXES, write_report
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.out_file import check_out
from memlake.transforms.report.page.page import page, verdict

SECTIONS = ["headline", "curves", "categories", "losses", "costs", "controls", "agreement", "browser"]


COMPARED = '[[comparisons]]\nname = "x"\na = "chunks"\nb = "summary"\n'


class Parts(HTMLParser):
    """Start tags with their attributes, and what stands in scripts and styles."""

    def __init__(self):
        super().__init__()
        self.tags, self.raw, self._inside = [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = (tag, dict(attrs)) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._inside = None if tag in ("script", "style") else self._inside

    def handle_data(self, data):
        if self._inside is not None:
            self.raw.append((*self._inside, data))


def parts(html):
    parser = Parts()
    parser.feed(html)
    return parser


@pytest.fixture(scope="module")
def hostile():
    return page(reported(hostile=HOSTILE).document())


def test_the_page_names_no_address_and_allows_none(hostile):
    found = parts(hostile)
    links = [
        value
        for _, attrs in found.tags
        for key, value in attrs.items()
        if key in ("src", "href", "action", "srcset", "data")
    ]
    assert all(link.startswith("#") for link in links)
    policy = next(attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    outside = re.sub(r"<script type=.*?</script>", "", hostile, flags=re.DOTALL)
    assert not re.search(r"https?:|url\(|@import|//[a-z]", outside)


def test_the_policy_lets_run_the_pages_own_script_and_style(hostile):
    found = parts(hostile)
    policy = next(attrs["content"] for tag, attrs in found.tags if "content" in attrs and attrs.get("http-equiv"))
    texts = {tag: text for tag, attrs, text in found.raw if "type" not in attrs}
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        wanted = base64.b64encode(hashlib.sha256(texts[tag].encode()).digest()).decode()
        assert f"{directive} 'sha256-{wanted}'" in policy


def test_no_text_of_a_transcript_or_a_model_becomes_markup(hostile):
    found = parts(hostile)
    assert not [tag for tag, attrs in found.tags if tag == "img" or any(name.startswith("on") for name in attrs)]
    scripts = [attrs for tag, attrs in found.tags if tag == "script"]
    assert [attrs for attrs in scripts if attrs.get("type") != "application/json"] == [{}]
    blocks = {
        attrs["id"]: json.loads(text) for tag, attrs, text in found.raw if attrs.get("type") == "application/json"
    }
    assert list(blocks) == ["report-index", "conversation-0", "conversation-1"]
    assert HOSTILE in blocks["conversation-0"]["turns"][0]["text"]


def test_nothing_of_the_script_makes_markup_of_a_text(hostile):
    script = next(text for tag, attrs, text in parts(hostile).raw if tag == "script" and not attrs)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|setAttribute\(.on", script
    )


def test_every_section_is_there_and_every_figure_has_its_numbers_and_says_what_it_is(hostile):
    found = parts(hostile)
    assert [attrs["id"] for tag, attrs in found.tags if tag == "section"] == SECTIONS
    figures = hostile.count("<figure>")
    assert figures > 5
    assert hostile.count("<svg") == hostile.count("<desc") == figures
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_every_printed_score_says_of_how_many_questions_it_is(hostile):
    captions = re.findall(r"<figcaption>.*?<small>(.*?)</small>", hostile)
    assert captions
    charts = [
        caption for caption in captions if "answer_survival_all" in caption or "judge_accuracy, labels" in caption
    ]
    assert charts
    assert all(re.search(r"n \d", caption) for caption in charts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reader": False}, "No reader answered in this run"),
        ({}, "This study declares no comparison"),
        ({"statistics": False}, "no statistics: this run has no rows of statistics"),
        ({"cells": (("only", "chunks", "lexical"),)}, "This study declares no comparison"),
        ({"cells": tuple((f"cell-{'long' * 6}-{place}", "chunks", "lexical") for place in range(12))}, "cell-longlong"),
    ],
)
def test_a_run_that_lacks_something_has_a_page_that_says_so(options, said):
    html = page(reported(**options).document())
    assert said in html
    assert "nan" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL).lower().split()


def test_an_extractive_reader_is_named_as_such_and_survival_is_told_from_accuracy(hostile):
    assert " is extractive: it asks no model" in hostile
    assert "Survival is not accuracy." in hostile


def test_a_file_is_a_page_or_data_by_its_suffix_and_another_is_refused(tmp_path):
    made = reported().document()
    size = write_report(made, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size == size
    write_report(made, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["run"]["run_id"] == made["run"]["run_id"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]
    with pytest.raises(UsageError, match=r"suffix '\.pdf' is unknown"):
        check_out(tmp_path / "r.pdf", SUFFIXES, example="r.html")
    with pytest.raises(NotFoundError, match="does not exist"):
        check_out(tmp_path / "none" / "r.html", SUFFIXES, example="r.html")


def test_the_same_run_gives_the_same_page():
    assert page(reported().document()) == page(reported().document())


@pytest.mark.parametrize(
    ("value", "low", "high", "holm", "said"),
    [
        (0.1, 0.05, 0.2, 0.01, "chunks scores higher than summary, and its test confirms it: p .010 after Holm's"),
        (-0.1, -0.2, -0.05, 0.01, "chunks scores lower than summary, and its test confirms it: p .010 after Holm's"),
        (0.1, 0.05, 0.2, 0.05, "chunks scores higher than summary by its interval alone: p .050 after Holm's"),
        (0.1, 0.05, 0.2, None, "chunks scores higher than summary by its interval; there is no test."),
        (0.1, 0.0, 0.2, 0.01, "No difference is shown: the interval holds zero; a true one below .300"),
        (0.1, None, None, 0.01, "There is no interval, so this difference may be chance."),
        (None, None, None, None, "There is no such difference in this run."),
    ],
)
def test_the_headline_says_in_one_sentence_what_its_interval_and_its_corrected_test_say(value, low, high, holm, said):
    (comparison,) = reported(more=COMPARED).document()["headline"]["compared"]
    comparison |= {
        "difference": comparison["difference"] | {"value": value, "low": low, "high": high},
        "p_holm": holm,
        "detectable": 0.3,
    }
    assert verdict(comparison).startswith(said)


def test_means_stand_in_the_headline_only_where_the_difference_is_theirs():
    made = reported(more=COMPARED).document()
    (comparison,) = made["headline"]["compared"]
    told = (
        '<span class="name">chunks</span> 1.000 \u2212 <span class="name">summary</span> .000 = <strong>+1.000</strong>'
    )
    assert told in page(made)
    comparison["mean_a"] = comparison["mean_a"] | {"n": 3}
    assert '<span class="name">chunks</span> \u2212 <span class="name">summary</span> = <strong>' in page(made)


def test_a_dial_is_drawn_with_the_place_at_which_its_difference_is_zero():
    made = reported().document()
    points = [
        {
            "corpus": f"c{place}",
            "dial": place / 2,
            "value": value,
            "low": value - 0.1,
            "high": value + 0.1,
            "n": 40,
            "excluded": 2,
        }
        for place, value in enumerate((0.3, 0.1, -0.1))
    ]
    made["dials"] = [
        {
            "comparison": "<b>verbatim",
            "a": "chunks",
            "b": "summary",
            "at": made["headline"]["at"],
            "points": points,
            "crossings": [0.75],
        }
    ]
    html = page(made)
    assert "&lt;b&gt;verbatim" in html
    assert "zero at 0.75" in html
    assert "changes sign at 0.75; n 40, 2 excluded" in html
    assert '<a href="#dials">' in html
    assert '<a href="#dials">' not in page(reported().document())
