"""Two hosts, each a network of its own on this machine, and the cable between them cut."""

import contextlib
import re
import secrets
import shutil
import subprocess
import time

import pytest

from tests.cluster.processes import environment, no_tasks
from tests.cluster.programs import TRAIN

pytestmark = pytest.mark.processes

HOSTS = ("10.213.77.1", "10.213.77.2")


def ip(*arguments):
    """Runs one `ip` command."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=20)


@pytest.fixture
def hosts():
    """Two network name spaces with a cable between them; gives their names."""
    if shutil.which("ip") is None:
        pytest.skip("the command `ip` is not here, so no networks can be made")
    mark = secrets.token_hex(3)
    names = [f"sx{mark}{side}" for side in "ab"]
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "del", name)
            ip(
                "link",
                "add",
                "cable",
                "netns",
                names[0],
                "type",
                "veth",
                "peer",
                "name",
                "cable",
                "netns",
                names[1],
            )
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this user may not make networks: {error.stderr.strip()}")
        for name, address in zip(names, HOSTS, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                ip("-n", name, "link", "set", device, "up")
        yield names


def test_when_the_network_is_cut_every_task_ends_and_names_the_other_in_seconds(hosts):
    cluster = {"worker": [f"{address}:2222" for address in HOSTS]}
    with no_tasks() as running:
        for index, name in enumerate(hosts):
            settings = environment(cluster, "worker", index)
            # A task of which nothing but its compiling was heard may be silent for longer.
            program = TRAIN + "train(10**6, lambda step: step == 3 and [*map(wait_until_heard, range(2))])"
            running.start(program, settings, before=("ip", "netns", "exec", name))
        for index in range(2):
            running.wait_for(index, "TRAINING")
        ip("-n", hosts[0], "link", "set", "cable", "down")  # So it is at its other end.
        began = time.monotonic()
        results = running.wait()
        # The 7 s of silence that the message tells of, and on a busy machine whatever it takes to say so.
        assert time.monotonic() - began < 20
    for index, result in enumerate(results):
        assert result.code == 201, result
        other = f"/job:worker/task:{1 - index}"
        assert re.search(rf"{other} sent no heartbeat for 7 s.*its host can't be reached", result.err), (
            result.err
        )
