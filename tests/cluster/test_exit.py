"""Exit codes, and leaving at once."""

import os
import subprocess
import sys

import pytest

from stratax.cluster import ExitCode, is_retryable
from stratax.cluster.exits import code_of
from stratax.errors import ClusterError, ClusterTimeoutError, PeerLostError
from tests.cluster import forks


def test_the_codes_are_those_that_are_documented():
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0,
        "USER_ERROR": 1,
        "LEFT_EARLY": 70,
        "BAD_CLUSTER": 78,
        "INTERRUPTED": 130,
        "PEER_LOST": 201,
        "STALLED": 202,
        "PREEMPTED": 203,
        "START_TIMEOUT": 204,
    }


def test_what_is_worth_another_try():
    assert [code for code in range(-20, 256) if is_retryable(code)] == [
        *(-15, -9, -6, 134, 137, 143),
        *(201, 202, 203, 204),
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PeerLostError("x"), ExitCode.PEER_LOST),
        (ClusterTimeoutError("x"), ExitCode.START_TIMEOUT),
        (ClusterError("x"), ExitCode.BAD_CLUSTER),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (KeyError("x"), ExitCode.USER_ERROR),
    ],
)
def test_every_error_has_a_code(error, code):
    assert code_of(error) == code


@pytest.mark.processes
def test_leaving_waits_for_nobody_and_loses_no_output():
    program = """
import atexit, sys, threading, time
from stratax.cluster._exit import leave
atexit.register(print, "never shown")
threading.Thread(target=time.sleep, args=(1000,)).start()
sys.stdout.write("half a line")
leave(201, "stratax: why")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (201, "half a line")
    assert done.stderr == "stratax: why\nstratax: this process leaves with exit code 201 (PEER_LOST).\n"


@pytest.mark.processes
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_leaving_does_not_wait_for_whoever_should_read_the_output(stream):
    program = f"""
import sys, threading, time
from stratax.cluster import _exit
_exit._FLUSH_SECONDS = 0.5
def fill():
    while True:
        sys.{stream}.write("x" * 10_000)
        sys.{stream}.flush()
threading.Thread(target=fill, daemon=True).start()
time.sleep(1)
_exit.leave(202, "why")
"""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "STRATAX_SIMULATE": ""}, stdout=pipe, stderr=pipe
    ) as process:
        try:
            assert process.wait(60) == 202
        finally:
            process.kill()


@pytest.mark.processes
def test_a_wrong_tf_config_ends_the_program_with_its_own_code():
    program = "import stratax as sx; sx.distribute.MultiWorkerMirroredStrategy()"
    config = '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 7}}'
    environment = {**os.environ, "TF_CONFIG": config}
    ended = forks.run(["-c", program], environment)
    assert ended.returncode == ExitCode.BAD_CLUSTER
    assert "ClusterError" in ended.stderr
