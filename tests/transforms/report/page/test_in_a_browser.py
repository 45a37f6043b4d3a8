"""The page in a real browser, headless: it loads nothing, logs nothing, obeys no text, and fits a phone."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess

import pytest
from markupsafe import escape
from reported_runs import ASKED, HOSTILE, reported

from memlake.transforms.report.page.page import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH"),
]

# Runs in a test's copy of the page, and tells the page around it what it saw.
PROBE = """
const seen = {
  title: document.title,
  wide: document.scrollingElement.scrollWidth, window: innerWidth,
  loaded: performance.getEntriesByType('resource').length,
  question: document.querySelector('#b-question h3')?.textContent ?? '',
  struck: [...document.querySelectorAll('#b-question mark.lost')].map((one) => one.textContent),
  images: document.querySelectorAll('img').length,
  scripts: document.querySelectorAll('script:not([type])').length,
  listed: document.querySelectorAll('#b-list a').length,
};
const pick = (id, value) => { document.getElementById(id).value = value; document.getElementById('b-form').dispatchEvent(new Event('change')); };
pick('b-right', '0'); pick('b-wrong', '1');
seen.differing = document.getElementById('b-count').textContent;
pick('b-category', '2');
seen.ofCategory = document.getElementById('b-count').textContent;
pick('b-right', ''); pick('b-category', ''); pick('b-wrong', '0');
seen.wrongInTheBest = document.getElementById('b-count').textContent;
pick('b-wrong', '1'); pick('b-loss', 'packed_out');
seen.lostElsewhere = document.getElementById('b-count').textContent;
pick('b-wrong', '2');
seen.lostThere = document.getElementById('b-count').textContent;
pick('b-wrong', ''); pick('b-loss', '');
pick('b-search', 'no such words');
seen.nothing = document.getElementById('b-count').textContent;
pick('b-search', '');
document.getElementById('b-next').click();
seen.hash = location.hash;
seen.reached = [...document.querySelectorAll('a, button, input, select, summary, [tabindex="0"]')].every((one) => one.tabIndex >= 0);
parent.postMessage(JSON.stringify(seen), '*');
"""

# A headless window is never narrower than 500 pixels: a frame is. What arrives stands in what --dump-dom prints.
FRAME = """<!doctype html><title>frame</title><iframe src="page.html{fragment}" width="{width}" height="800"></iframe><script>
addEventListener('message', (event) => {{
  const left = document.createElement('pre');
  left.id = 'seen';
  left.textContent = event.data;
  document.body.append(left);
}});
</script>"""


def opened(tmp_path, text, *, fragment="", width=360):
    """What the probe saw of a page, and what the browser logged."""
    wanted = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    policy = escape("script-src '")
    assert policy in text
    copy = text.replace(policy, escape(f"script-src 'sha256-{wanted}' '"), 1)
    copy = copy.replace("</body>", f"<script>{PROBE}</script></body>")
    (tmp_path / "page.html").write_text(copy, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(fragment=fragment, width=width), encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000", "--virtual-time-budget=3000", "--dump-dom", frame.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    said = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    logged = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert said is not None, logged
    return json.loads(html.unescape(said[1])), logged


@pytest.fixture(scope="module")
def hostile():
    return page(reported(hostile=HOSTILE).document())


def test_a_hostile_run_is_shown_as_text_loads_nothing_and_fits_a_phone(tmp_path, hostile):
    seen, logged = opened(tmp_path, hostile)
    assert logged == []
    assert (seen["loaded"], seen["images"]) == (0, 0)
    assert seen["scripts"] == 2  # the page's own, and the probe
    assert seen["title"] == "small on c: memlake report"
    assert seen["wide"] <= seen["window"] == 360
    assert seen["listed"] == 4
    assert seen["reached"] is True


def test_a_fragment_opens_its_question_with_the_lost_words_struck_and_filters_find_what_differs(tmp_path):
    seen, logged = opened(tmp_path, page(reported().document()), fragment="#q=c%2Fw%3Aq0", width=1280)
    assert logged == []
    assert seen["question"] == ASKED[0][0]
    assert {"except", "Sundays"} <= set(seen["struck"])
    assert (seen["differing"], seen["ofCategory"], seen["nothing"]) == (
        "3 of 4 questions",
        "2 questions",
        "No question matches",
    )
    assert (seen["wrongInTheBest"], seen["lostElsewhere"]) == ("No question matches", "No question matches")
    assert seen["lostThere"] == "3 of 4 questions"
    assert seen["hash"] == "#q=c%2Fw%3Aq1"


def test_twelve_cells_with_long_names_fit_a_phone_too(tmp_path):
    cells = tuple((f"cell-{'long' * 12}-{place}", "chunks", "lexical") for place in range(12))
    seen, logged = opened(tmp_path, page(reported(cells=cells).document()))
    assert logged == []
    assert seen["wide"] <= seen["window"] == 360
