"""Where checkpoints are looked for: on this machine alone."""

import json
import socket
from pathlib import Path

import pytest
from tiny_models import hub_cache

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.checkpoint import PLAIN, find_checkpoint
from memlake.transforms.embed.embedder import parse_spec

COMMIT = "5617a9f61b028005a4858fdac845db406aefb181"
HUB_ID = "BAAI/bge-m3"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "m3"
    made.mkdir()
    (made / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def find(text: str, **more: object):
    return find_checkpoint(parse_spec(text, ["bge-m3"]), hub_id=HUB_ID, **more)


def test_a_folder_is_known_by_what_its_files_hold_not_by_where_it_lies(folder: Path, tmp_path: Path) -> None:
    first = find(f"bge-m3@{folder}")
    assert (first.folder, first.model) == (folder, HUB_ID)
    moved = tmp_path / "elsewhere"
    folder.rename(moved)
    assert find(f"bge-m3@{moved}").revision == first.revision
    for name, content in (
        ("model.safetensors", b"Weights"),
        ("tokenizer.json", b"{}"),
        ("1_Pooling/config.json", b"{}"),
    ):
        before = find(f"bge-m3@{moved}").revision
        (moved / name).parent.mkdir(exist_ok=True)
        (moved / name).write_bytes(content)
        assert find(f"bge-m3@{moved}").revision != before


def test_other_exports_and_notes_do_not_count(folder: Path) -> None:
    before = find(f"bge-m3@{folder}").revision
    for name in ("onnx/model.bin", ".cache/huggingface/x.json", "README.md"):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("x")
    assert find(f"bge-m3@{folder}").revision == before


def test_bytes_that_move_from_one_file_to_the_next_change_the_digest(folder: Path) -> None:
    (folder / "a.json").write_text("12")
    (folder / "b.json").write_text("3")
    before = find(f"bge-m3@{folder}").revision
    (folder / "a.json").write_text("1")
    (folder / "b.json").write_text("23")
    assert find(f"bge-m3@{folder}").revision != before


def test_a_folder_that_is_not_there_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is no folder") as missing:
        find(f"bge-m3@{tmp_path}/no such")
    assert missing.value.hint == f"hf download BAAI/bge-m3 --local-dir '{tmp_path}/no such'"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_half_a_checkpoint_is_refused_and_names_what_it_lacks(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(NotFoundError, match=f"lacks {name}") as missing:
        find(f"bge-m3@{folder}")
    assert missing.value.hint.startswith("hf download BAAI/bge-m3 --local-dir ")


def test_heads_that_are_missing_are_named(folder: Path) -> None:
    with pytest.raises(NotFoundError, match=r"lacks colbert_linear\.pt"):
        find(f"bge-m3@{folder}", needs=(*PLAIN, "colbert_linear.pt"))


def test_a_hub_id_is_found_in_the_local_cache_and_pinned_to_its_commit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub", reason="the extra `bge` is not installed")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub_cache(tmp_path / "hub", HUB_ID, folder, COMMIT)))
    for text in ("bge-m3", f"bge-m3@{HUB_ID}", f"bge-m3@{HUB_ID}#main", f"bge-m3@{HUB_ID}#{COMMIT}"):
        found = find(text)
        assert (found.model, found.revision) == (HUB_ID, COMMIT)
    with pytest.raises(NotFoundError, match="revision='v2'") as missing:
        find(f"bge-m3@{HUB_ID}#v2")
    assert missing.value.hint == "hf download BAAI/bge-m3 --revision v2"


def test_a_model_that_is_not_in_the_cache_is_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="the extra `bge` is not installed")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match="not in the local cache") as missing:
        find("bge-m3")
    assert missing.value.hint == "hf download BAAI/bge-m3"
    (tmp_path / "models" / "m3").mkdir(parents=True)
    with pytest.raises(NotFoundError, match=r"write bge-m3@\./models/m3"):
        find("bge-m3@models/m3")


def test_a_kind_without_a_model_of_its_own_needs_a_checkpoint() -> None:
    with pytest.raises(NotFoundError, match="stands for no model of its own"):
        find_checkpoint(parse_spec("flag", ["flag"]))
