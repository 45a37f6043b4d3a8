from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Source
from memlake.transforms.read.common.json_lines import LineNumbers, read_blocks

PIECES = st.sampled_from(["a", "bc", "\r", "\u2028", "\x0b", "é", "\n", "\n", "\x85"])


def lines(uri: str, start: int = 0, end: int | None = None, block_bytes: int = 4) -> list[bytes]:
    return [line for block in read_blocks(Source(uri, start, end), block_bytes) for line in block.lines]


@given(st.lists(PIECES, max_size=30).map("".join), st.lists(st.integers(0, 50), max_size=4), st.integers(1, 9))
def test_ranges_that_tile_a_file_hold_each_line_once(tmp_path_factory, text, cuts, block_bytes):
    path = tmp_path_factory.mktemp("lines") / "file"
    raw = text.encode()
    path.write_bytes(raw)
    edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    ranges = list(pairwise(edges)) or [(0, None)]
    found = [line for start, end in ranges for line in lines(str(path), start, end, block_bytes)]
    expected = raw.split(b"\n")
    assert found == (expected[:-1] if expected[-1] == b"" else expected)


def test_blocks_know_where_they_start_and_line_numbers_count_from_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\nthree\nfour\n")
    blocks = list(read_blocks(Source(str(path), 5, None), 6))
    assert [(block.offset, block.index) for block in blocks] == [(8, 0), (14, 1)]
    numbers = LineNumbers(Source(str(path), 5, None))
    assert [numbers.of(0), numbers.of(1)] == [3, 4]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo")
    assert lines(str(path)) == [b"one", b"two"]
