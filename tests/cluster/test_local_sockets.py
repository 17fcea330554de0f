"""Another user of the machine reaches no local socket of a cluster's tasks."""

import json
import os
import pathlib
import signal
import tempfile

import pytest

from tests.cluster.processes import addresses, as_stranger, environment, no_tasks, places
from tests.cluster.programs import TRAIN

pytestmark = pytest.mark.processes

KNOCK = """
reached = {}
for name in json.loads(sys.argv[1]):
    with socket.socket(socket.AF_UNIX) as knocking:
        try:
            knocking.connect("\\0" + name[1:] if name.startswith("@") else name)
            reached[name] = "connected"
        except OSError as error:
            reached[name] = errno.errorcode[error.errno]
print(json.dumps(reached))
"""


def sockets_of(pids):
    """The names of the local sockets that processes hold."""
    held = {
        os.readlink(link).removeprefix("socket:[").rstrip("]")
        for pid in pids
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()
        if os.path.islink(link) and "socket:" in os.readlink(link)
    }
    lines = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]]
    return sorted({line[7] for line in lines if len(line) > 7 and line[6] in held})


@pytest.mark.skipif(not os.path.exists("/proc/net/unix"), reason="only Linux lists the local sockets")
def test_another_user_reaches_no_local_socket_and_none_is_left_behind():
    cluster = addresses(2)
    with tempfile.TemporaryDirectory(prefix="s-", dir="/tmp") as folder, no_tasks() as running:
        os.chmod(folder, 0o1777)
        for place in places(cluster):
            running.start(TRAIN + "train(10**6)", environment(cluster, *place, variables={"TMPDIR": folder}))
        running.wait_for(0, "TRAINING")
        names = sockets_of([running.pid(0), running.pid(1)])
        assert len(names) >= 2, names
        reached = json.loads(as_stranger(KNOCK, json.dumps(names)))
        assert set(reached.values()) == {"EACCES"}, reached
        running.signal(1, signal.SIGKILL)
        survivor, killed = running.wait()
        assert (survivor.code, killed.code) == (201, -9), survivor
        # Of the survivor nothing is left; the next start removes what is left of the other.
        (left,) = os.listdir(folder)
        for place in places(cluster):
            running.start(TRAIN, environment(cluster, *place, variables={"TMPDIR": folder}))
        results = running.wait()[2:]
        assert [result.code for result in results] == [0, 0], results
        assert os.listdir(folder) == [], left
