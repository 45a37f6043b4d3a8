"""The supervisor ends what it started when its own starter is gone, whatever else still lives."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memlake.flows.run import supervisor

# Starts the supervisor and then forks a child that holds the other end of the supervisor's pipe open.
STARTER = """
import os, subprocess, sys, time
script, home, fork = sys.argv[1:]
command = [sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(100)'])"]
started = subprocess.Popen([sys.executable, script, home, *command], stdin=subprocess.PIPE, start_new_session=True)
child = os.fork() if fork == "fork" else 0
if fork == "fork" and child == 0:
    time.sleep(100)
print(started.pid, child, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("fork", ["fork", "alone"])
def test_a_killed_starter_takes_the_supervisors_command_and_its_children_with_it(tmp_path: Path, fork: str):
    home = tmp_path / "home"
    home.mkdir()
    (home / "file").touch()
    arguments = [sys.executable, "-c", STARTER, supervisor.__file__, str(home), fork]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        started, child = map(int, process.stdout.readline().split())
        watched = psutil.Process(started)
        below: list[psutil.Process] = []
        while len(below) < 2:  # the command and its child
            below = watched.children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            _, alive = psutil.wait_procs([watched, *below], timeout=30)
            assert alive == []
            assert not home.exists()
        finally:
            if child:
                os.kill(child, signal.SIGKILL)


def test_a_command_that_ends_by_itself_ends_the_supervisor_and_its_folder(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    with subprocess.Popen([sys.executable, supervisor.__file__, str(home), "true"], stdin=subprocess.PIPE) as process:
        assert process.wait(30) == 0
    assert not home.exists()
