import pyarrow as pa
import pytest

from transforms.errors import NotFoundError
from transforms.retrieve.tokenisers import costs


def test_chars4_counts_a_quarter_of_the_code_points_and_one():
    texts = pa.chunked_array([["", "abc", "abcd"], ["漢字漢字", "e\u0301e\u0301", "x" * 4000]])
    assert costs("chars4", texts).tolist() == [1, 1, 2, 2, 2, 1001]


def test_an_unknown_tokeniser_is_refused_with_the_names_there_are():
    with pytest.raises(NotFoundError, match="'words' does not exist: allowed are chars4"):
        costs("words", pa.chunked_array([["a"]]))
