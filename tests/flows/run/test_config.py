from pathlib import Path

import pytest

from memlake.flows.run.config import SETTINGS, load, unknown_variables
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.setting import split_specs


@pytest.fixture(autouse=True)
def bare_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without memlake.toml and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in SETTINGS:
        monkeypatch.delenv(f"MEMLAKE_{name.upper()}", raising=False)
    return tmp_path


def test_defaults_hold_where_nothing_is_said():
    found = load()
    assert tuple(found.values[name] for name in ("lake", "chunk_size", "overlap")) == ("./lake", 512, 100)
    assert set(found.origins.values()) == {"default"}


def test_each_layer_wins_over_the_one_before(bare_folder: Path, monkeypatch: pytest.MonkeyPatch):
    (bare_folder / "memlake.toml").write_text('lake = "file"\nembedder = "file"\nworkers = 2\n')
    monkeypatch.setenv("MEMLAKE_LAKE", "environment")
    monkeypatch.setenv("MEMLAKE_EMBEDDER", "environment")
    found = load(lake="flag", embedder=None)
    assert tuple(found.values[name] for name in ("lake", "embedder", "workers")) == ("flag", "environment", 2)
    origins = {name: found.origins[name] for name in ("lake", "embedder", "workers", "runner")}
    assert origins == {
        "lake": "flag", "embedder": "MEMLAKE_EMBEDDER", "workers": "memlake.toml", "runner": "default"
    }  # fmt: skip


def test_an_unknown_key_names_the_allowed_ones_and_the_nearest(bare_folder: Path):
    (bare_folder / "memlake.toml").write_text('lakee = "x"\n')
    with pytest.raises(UsageError, match=r"key='lakee' is unknown; allowed: lake, embedder") as caught:
        load()
    assert caught.value.hint == "did you mean lake?"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lake = ", "memlake.toml is not TOML"),
        ('workers = "many"', r"workers='many' \(from memlake.toml\)"),
        ("workers = 0", "greater than or equal to 1"),
        ("allow_dead = 1.5", "less than or equal to 1"),
        ('lake = " "', "it is empty"),
    ],
)
def test_a_bad_value_in_the_file_is_one_clear_error(bare_folder: Path, text: str, says: str):
    (bare_folder / "memlake.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        load()


def test_a_bad_value_names_the_variable_that_holds_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMLAKE_CHUNK_SIZE", "wide")
    with pytest.raises(UsageError, match=r"chunk_size='wide' \(from MEMLAKE_CHUNK_SIZE\)"):
        load()


def test_names_in_the_environment_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMLAKE_REPRESENTATIONS", "chunks, turns,")
    assert load().values["representations"] == ("chunks", "turns")


def test_commas_inside_a_representation_s_settings_do_not_split_it():
    assert split_specs("chunks-o0:overlap=0,size=256,turns") == ("chunks-o0:overlap=0,size=256", "turns")


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMLAKE_LAKE", "")
    assert load().origins["lake"] == "default"


def test_a_variable_that_is_no_setting_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMLAKE_LAEK", "x")
    assert unknown_variables() == ["MEMLAKE_LAEK"]


@pytest.mark.parametrize("value", [" ", " x", "x\t", "a\nb", "a\x00b", "a\x1b[31mb"])
@pytest.mark.parametrize("name", ["model", "base_url", "provider"])
def test_a_name_with_spaces_around_it_or_signs_that_do_not_print_is_refused(name: str, value: str):
    with pytest.raises(UsageError, match=rf"{name}=.* \(from flag\) is not allowed: it has spaces around it, or signs"):
        load(**{name: value})
    assert load(**{name: "an odd 'name' \u00e9"}).values[name] == "an odd 'name' \u00e9"
