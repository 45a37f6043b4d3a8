"""Markup of a report: what is not made here is text, and no text ends a data block."""

import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.report.page.html import data_block, el, join, text, void

NASTY = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["<", ">", "&", '"', "'", "</script>", "<!--", "-->", "]]>", "\u2028", "\u2029", "\u202e", "\x00", "a"]
        ),
        max_size=8,
    ).map("".join),
)


class Seen(HTMLParser):
    """What a parser finds: tags, and the text and attributes between them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.tags.append(f"comment {data}")


def seen(markup):
    parser = Seen()
    parser.feed(markup)
    parser.close()
    return parser


@given(said=NASTY)
def test_text_makes_no_markup_and_is_read_back_as_it_was_but_for_signs_that_nobody_sees(said):
    found = seen(el("p", said, title=said))
    assert found.tags == ["p"]
    plain = seen(text(said)).text
    assert found.text == plain
    assert not any(sign in plain for sign in "\x00\u202e\u200b")


def test_signs_that_nobody_sees_are_written_out_and_joiners_of_emoji_stay():
    assert text("a\u202eb\u200bc\x00") == "a[U+202E]b[U+200B]c[U+0000]"
    assert text("👩\u200d👧 line\nbreak") == "👩\u200d👧 line\nbreak"


@given(said=NASTY)
def test_a_data_block_holds_any_text_and_ends_where_it_should(said):
    block = data_block("d", json.dumps({"said": said}, ensure_ascii=False))
    inside = block.removeprefix('<script type="application/json" id="d">').removesuffix("</script>")
    assert json.loads(inside) == {"said": said}
    assert not set("<>&\u2028\u2029") & set(inside)


def test_attributes_without_a_value_are_left_out_and_void_elements_have_no_end():
    assert void("input", type="search", disabled=True, title=None, hidden=False) == '<input type="search" disabled>'
    assert join("<", None, el("b", "&")) == "&lt;<b>&amp;</b>"
