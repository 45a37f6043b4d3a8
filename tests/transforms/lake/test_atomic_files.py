"""Files that are there whole or not at all, and nothing of what did not become one."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from memlake.transforms.lake.storage.place import put_once, put_text, read_json, replacing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_of_many_who_put_a_file_once_the_first_one_s_stays(tmp_path):
    path = tmp_path / "entry.json"
    with ThreadPoolExecutor(16) as pool:
        put = list(pool.map(lambda number: put_once(path, f"{number}" * 10_000), range(10)))
    assert put.count(True) == 1
    assert path.read_text() == f"{put.index(True)}" * 10_000
    assert names(tmp_path) == ["entry.json"]


def test_a_text_takes_a_file_s_place_and_says_its_bytes(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    assert put_text(path, "\u00e9\r\n\ud800") == len(path.read_bytes()) == 10
    assert path.read_bytes() == b"\xc3\xa9\r\n\\ud800"
    assert names(tmp_path) == ["page.html"]


def test_until_a_block_has_ended_well_the_old_file_is_there_and_nothing_is_left_of_a_failed_one(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old")

    def stop_midway():
        with replacing(path) as fresh:
            fresh.write_text("half")
            assert path.read_text() == "old"
            raise KeyError

    with pytest.raises(KeyError):
        stop_midway()
    assert (path.read_text(), names(tmp_path)) == ("old", ["rows.csv"])
    with replacing(path) as fresh:
        fresh.write_text("whole")
    assert (path.read_text(), names(tmp_path)) == ("whole", ["rows.csv"])


def test_where_nothing_can_be_written_nothing_is_lost(tmp_path):
    for put in (put_once, put_text):
        with pytest.raises(FileNotFoundError):
            put(tmp_path / "no-folder" / "x", "text")
    (tmp_path / "folder").mkdir()
    assert not put_once(tmp_path / "folder", "text")
    with pytest.raises(IsADirectoryError):
        put_text(tmp_path / "folder", "text")
    assert names(tmp_path) == ["folder"]


def test_a_broken_file_is_none_and_goes(tmp_path):
    path = tmp_path / "note.json"
    assert read_json(path) is None
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}
    path.write_text('{"a":')
    assert (read_json(path), names(tmp_path)) == (None, [])
