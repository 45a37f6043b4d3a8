"""The wheel puts one name into site-packages, and works beside folders that are called as ours are."""

import json
import os
import site
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

REPOSITORY = Path(__file__).parent.parent
OURS = ("flows", "transforms", "schemas", "sql", "infra", "tests")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", *build, str(REPOSITORY)], check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel) -> Path:
    """The `bin` folder of an environment that holds the wheel, and what it depends on, and nothing of the checkout."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    install = ["--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    [packages] = home.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched, but its own .pth files, an editable install of ours, are not read.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return home / "bin"


@pytest.fixture
def users_folder(tmp_path) -> Path:
    """A user's own project, whose modules have the names of our folders and say so when they are imported."""
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise AssertionError('the user\\'s own {name} was imported')\n")
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PREFECT_API_URL")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_wheel_holds_one_package_with_everything_in_it(wheel):
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"memlake"}
    tracked = ["git", "-C", str(REPOSITORY), "ls-files", "schemas", "transforms", "flows", "sql", "memlake/__init__.py"]
    files = subprocess.run(tracked, capture_output=True, text=True, check=True).stdout.split()
    assert {f"memlake/{file.removeprefix('memlake/')}" for file in files} <= set(names)


def test_the_demo_runs_from_the_wheel_beside_folders_of_the_same_names(installed, users_folder):
    made = json.loads(run(users_folder, str(installed / "memlake"), "demo", "--lake", "demo-lake", "--json").stdout)
    assert made["questions"] == 100
    assert {row["representation"] for row in made["kept"]} == {"chunks", "turns", "rule_summary"}


def test_a_script_beside_folders_of_the_same_names_imports_memlake(installed, users_folder):
    line = '{"conversation_id": "c", "turns": [{"text": "Shoes stay outside.", "turn_id": "t1"}]}\n'
    (users_folder / "chats.jsonl").write_text(line)
    ingest = ["ingest", "chats.jsonl", "--corpus", "mine", "--lake", "lake", "--workers", "2", "--json"]
    run(users_folder, str(installed / "memlake"), *ingest)
    (users_folder / "ask.py").write_text(
        "import memlake\n"
        "print(memlake.__file__)\n"
        "print(memlake.table(memlake.open('lake'), 'turns', columns=['text'])['text'].to_pylist())\n"
    )
    place, texts = run(users_folder, str(installed / "python"), "ask.py").stdout.splitlines()
    assert Path(place).is_relative_to(installed.parent)
    assert texts == "['Shoes stay outside.']"
