"""`memlake probes`: the same bytes again, and what it writes lands."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--conversations", "3", "--turns", "30")


def test_the_same_settings_write_the_same_bytes_and_each_fit_has_a_file(
    memlake: Memlake, started_memlake: Memlake, tmp_path: Path
):
    first = json.loads(
        started_memlake("probes", "a", *SMALL, "--fit", "0,0.25", "--fit", "1", "--json", PYTHONHASHSEED="1").stdout
    )
    again = started_memlake("probes", "b", *SMALL, "--fit", "1,0,.25", PYTHONHASHSEED="2")
    assert again.stdout.endswith("next: memlake ingest b --corpus probes\n")
    names = ["probes-f000.jsonl", "probes-f025.jsonl", "probes-f100.jsonl"]
    assert [Path(file["path"]).name for file in first["files"]] == names
    assert [file["facts_that_fit"] for file in first["files"]][::2] == [0, first["files"][0]["facts"]]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert memlake("probes", "b", *SMALL, "--fit", "1", "--seed", "8", "--quiet").stdout == ""
    assert (tmp_path / "a" / names[2]).read_bytes() != (tmp_path / "b" / names[2]).read_bytes()
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == names


def test_what_it_writes_lands_without_a_dead_letter(memlake: Memlake):
    made = json.loads(memlake("probes", "out", *SMALL, "--fit", "0,1", "--split", "train", "--json").stdout)
    done = memlake("ingest", "out", "--corpus", "probes", "--embedder", "none", "--json")
    assert done.returncode == 0, done.stderr
    landed = json.loads(done.stdout)
    assert landed["dead_letters"] == {}
    assert set(landed["evidence_invalid"].values()) == {0}
    assert landed["seen"]["turns"] == sum(file["turns"] for file in made["files"]) == 180
    assert landed["seen"]["questions"] == sum(file["questions"] for file in made["files"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--fit", "1.5"), "fit=1.5 is not allowed: from 0 to 1"),
        (("--fit", "nan"), "fit=nan is not allowed: from 0 to 1"),
        (("--fit", "half"), "fit='half' is no number"),
        (("--turns", "19"), "turns=19 is not allowed: at least 20"),
        (("--conversations", "0"), "conversations=0 is not allowed: at least 1"),
        (("--split", "dev"), "split='dev' is not one of test, train"),
    ],
)
def test_a_setting_out_of_range_is_refused_and_nothing_is_written(
    memlake: Memlake, tmp_path: Path, arguments: tuple[str, ...], says: str
):
    done = memlake("probes", "out", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {says}")
    assert not (tmp_path / "out").exists()
