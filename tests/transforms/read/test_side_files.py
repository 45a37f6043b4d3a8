import pytest

from memlake.transforms.read.common.side_files import beside, first_readable, folders_of, stem_of


@pytest.mark.parametrize(
    ("uri", "folders", "stem"),
    [
        ("/data/100K/7/chat.json", ["data", "100K", "7"], "chat"),
        ("file:///data/a%20b/x.y.json", ["data", "a b"], "x.y"),
        ("s3://bucket/a%20b/chat", ["bucket", "a%20b"], "chat"),
        ("chat.json", [], "chat"),
        (".json", [], ".json"),
    ],
)
def test_names_are_taken_from_paths_and_uris(uri, folders, stem):
    assert (folders_of(uri), stem_of(uri)) == (folders, stem)


def test_a_path_beside_a_file_or_above_it_keeps_the_scheme():
    assert beside("/a/b/c.json", "d.json") == "/a/b/d.json"
    assert beside("s3://a/b/c.json", "x/d.json", up=1) == "s3://a/x/d.json"
    assert beside("c.json", "d.json") == "d.json"


def test_the_first_file_that_can_be_opened_is_found(tmp_path):
    (tmp_path / "b").write_text("")
    assert first_readable([str(tmp_path / "a"), str(tmp_path / "b")]) == str(tmp_path / "b")
    assert first_readable([str(tmp_path / "a"), str(tmp_path)]) is None
