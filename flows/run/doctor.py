"""What `memlake doctor` finds out: versions, settings, tools, how lake and models are, and what is wrong with any."""

import os
import platform
import shutil
from dataclasses import asdict, dataclass

from memlake.flows.run.adapter import configured_api
from memlake.flows.run.config import Configuration, lake_folder, unknown_variables
from memlake.flows.run.settings import DuckDBSettings
from memlake.transforms.lake.query.connect import bare_connection
from memlake.transforms.lake.query.health import lake_health
from memlake.transforms.llm.health import installed, model_health
from memlake.transforms.llm.settings import ModelSettings

PACKAGES = (
    "memlake", "apache-beam", "pyarrow", "deltalake", "lancedb", "pylance", "duckdb", "prefect", "bm25s", "wordllama",
    "numpy", "cyclopts", "pydantic", "rich",
)  # fmt: skip
Facts = dict[str, object]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found, and the sentences that say what is wrong."""

    versions: Facts
    settings: list[Facts]
    tools: Facts
    lake: Facts
    models: Facts
    duckdb: Facts
    vectors: list[Facts]
    problems: list[str]


def check(configuration: Configuration) -> Diagnosis:
    """Look at the installation, the settings and the configured lake; changes nothing."""
    problems: list[str] = []
    models = model_health(configuration.make(ModelSettings), problems)
    problems += [f"{name} is no setting of memlake: misspelt?" for name in unknown_variables()]
    if fault := configuration.chunk_fault():
        problems.append(fault.message)
    versions: Facts = {"python": platform.python_version()} | {name: installed(name) for name in PACKAGES}
    problems += [f"package {name} is not installed" for name, has in versions.items() if has is None]
    lake = lake_health(configuration.values["lake"], lake_folder(configuration.values["lake"]))
    return Diagnosis(
        versions=versions,
        settings=configuration.rows(),
        tools=_tools(),
        lake=lake.facts,
        models=models,
        duckdb=_duckdb(configuration.make(DuckDBSettings)),
        vectors=lake.vectors,
        problems=problems + lake.problems,
    )


def _tools() -> Facts:
    from memlake.flows.run.prism import prism_location

    prism, api = prism_location(), configured_api()
    return {
        "cores": os.cpu_count(),
        "go": shutil.which("go"),
        "prism": str(prism) if prism else None,
        # Without user and password, should the URL hold any.
        "prefect_api": None if api is None else api.rpartition("@")[2],
    }


def _duckdb(settings: DuckDBSettings) -> Facts:
    """DuckDB's settings as every query gets them, and the extensions that it has without a download."""
    with bare_connection(**asdict(settings)) as connection:
        names = ("threads", "memory_limit", "temp_directory", "TimeZone")
        facts: Facts = {
            name: connection.execute("select current_setting($n)", {"n": name}).fetchall()[0][0] for name in names
        }
        loaded = "select extension_name from duckdb_extensions() where loaded order by 1"
        return facts | {"extensions": [name for (name,) in connection.execute(loaded).fetchall()]}
