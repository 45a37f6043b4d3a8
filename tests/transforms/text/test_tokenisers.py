import pyarrow as pa
import pytest
from tokenizers import Tokenizer

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.static import TOKENIZER, wheel_file
from memlake.transforms.text.token_counts import find_counter
from memlake.transforms.text.tokenisers import costs


def test_chars4_counts_a_quarter_of_the_code_points_and_one():
    texts = pa.chunked_array([["", "abc", "abcd"], ["漢字漢字", "e\u0301e\u0301", "x" * 4000]])
    assert costs("chars4", texts).tolist() == [1, 1, 2, 2, 2, 1001]


def test_an_unknown_tokeniser_is_refused_with_the_names_there_are():
    with pytest.raises(NotFoundError, match="'words' does not exist: allowed are chars4"):
        costs("words", pa.chunked_array([["a"]]))


def test_llama2_counts_the_tokens_of_its_own_vocabulary_and_at_least_1():
    texts = ["", "[8 May] Ann: the red cars ran.\n", "漢字 <s> é", "word " * 300]
    tokenizer = Tokenizer.from_buffer(wheel_file(TOKENIZER))
    expected = [max(len(tokenizer.encode(text, add_special_tokens=False).ids), 1) for text in texts]
    assert costs("llama2", pa.array(texts)).tolist() == expected
    assert costs("llama2", pa.chunked_array([texts[:1], texts[1:]])).tolist() == expected


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_a_vocabulary_that_is_not_on_the_disk_is_refused_and_none_is_taken_in_its_place(name):
    if find_counter().name == f"tiktoken {name}":
        pytest.skip(f"tiktoken and {name} are on this disk")
    with pytest.raises(NotFoundError, match=f"tokeniser='{name}' is not on this disk") as refused:
        costs(name, pa.array(["a"]))
    assert "llama2" in refused.value.hint
