import json

from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.llm.prompting import data_block


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_the_marks_of_a_block_occur_nowhere_in_it(texts: list[str]) -> None:
    block = data_block("found", texts)
    opening, *lines, closing = block.split("\n")
    assert [json.loads(line) for line in lines] == texts
    assert closing == f"</{opening[1:]}"
    assert block.count(opening[1:-1].removeprefix("found-")) == 2
