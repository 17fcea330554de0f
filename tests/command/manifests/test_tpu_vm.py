"""The script for TPU VMs, run by bash with a stand-in for `gcloud` whose hosts are folders of this machine."""

import contextlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from stratax.command.manifests import TpuSlice, TpuVmPlan, tpu_vm_script
from stratax.errors import BadArgumentError
from tests.cluster.processes import CHECKOUT, free_ports
from tests.cluster.test_tpu_pod import metadata_server

pytestmark = pytest.mark.processes

GCLOUD = f"""\
#!{sys.executable} -I
'''Does what gcloud does with queued resources and TPU VMs; `cloud.json` says what goes wrong.'''
import json, os, pathlib, shutil, signal, subprocess, sys, time
here = pathlib.Path(os.environ["FAKE_CLOUD"])
settings = json.loads((here / "cloud.json").read_text())
arguments = sys.argv[1:]
with open(here / "calls", "a") as file:
    file.write(json.dumps(arguments) + "\\n")
kind, verb, *rest = arguments[2:]
options = dict(each.split("=", 1) for each in rest if each.startswith("--") and "=" in each)
# Of the released commands; those of alpha and beta have more.
known = {{
    "create": "node-id accelerator-type runtime-version valid-until-duration spot reserved",
    "describe": "format",
    "delete": "force quiet",
    "ssh": "worker command quiet",
    "scp": "worker recurse quiet",
}}[verb].split()
for each in rest:
    if each.startswith("--") and each[2:].split("=")[0] not in {{*known, "zone", "project"}}:
        sys.exit(f"ERROR: unrecognized arguments: {{each}}")
there = here / "there"

def fails(what):
    # So often as it is said.
    left = here / f"{{what}}.left"
    count = int(left.read_text()) if left.exists() else settings.get(what, 0)
    left.write_text(str(max(count - 1, 0)))
    return count > 0

def on_workers(action):
    wanted = range(settings["hosts"]) if options["--worker"] == "all" else [int(options["--worker"])]
    running = [action(here / f"host{{n}}", n) for n in wanted]
    def hang_up(number, frame):
        for each in running:
            os.killpg(each.pid, signal.SIGKILL)
        os._exit(143)
    if verb == "ssh":
        signal.signal(signal.SIGTERM, hang_up)
    codes = [each.wait() if each is not None else 0 for each in running]
    for n, code in zip(wanted, codes):
        if code == 255:
            # gcloud makes a lost connection again, with the same command.
            codes[n] = action(here / f"host{{n}}", n).wait()
    sys.exit(next((code for code in codes if code), 0))

def execute(home, number):
    command = rest[rest.index("--command") + 1]
    if "host.sh" in command and "stop" not in command and number == settings.get("dropped") and fails("drops"):
        lost = subprocess.Popen(
            ["bash", "-c", command], cwd=home, env=environment(home, number), start_new_session=True
        )
        time.sleep(0.7)
        os.killpg(lost.pid, signal.SIGKILL)
        lost.wait()
        return subprocess.Popen(["sh", "-c", "exit 255"])
    return subprocess.Popen(["bash", "-c", command], cwd=home, env=environment(home, number), start_new_session=True)

def environment(home, number):
    own = settings.get("environments", [{{}}] * settings["hosts"])[number]
    return {{**os.environ, **own, "HOME": str(home), "WORKER": str(number)}}

if kind == "queued-resources":
    if verb == "create":
        time.sleep(settings.get("create_seconds", 0))
        if settings.get("create_code"):
            print("ERROR: quota", file=sys.stderr)
            sys.exit(settings["create_code"])
        there.touch()
    elif verb == "describe":
        if settings.get("auth"):
            sys.exit("ERROR: no credentials")
        if not there.exists():
            sys.exit("ERROR: (gcloud.compute.tpus.queued-resources.describe) NOT_FOUND: Resource was not found")
        if fails("silent"):
            sys.exit("ERROR: network")
        if "yaml" in options["--format"]:
            print("state:\\n  failedData:\\n    error:\\n      message: no more capacity")
            sys.exit()
        states = settings["states"]
        place = here / "place"
        number = int(place.read_text()) if place.exists() else 0
        place.write_text(str(number + 1))
        print(states[min(number, len(states) - 1)])
    elif verb == "delete":
        if fails("undeletable"):
            sys.exit("ERROR: try later")
        there.unlink()
elif verb == "ssh":
    on_workers(execute)
elif verb == "scp":
    *sources, destination = [each for each in rest if not each.startswith("--")]
    def copy(home, number):
        if ":" in destination:
            to = home / destination.split(":", 1)[1]
            frm = [pathlib.Path(each) for each in sources]
        else:
            to = pathlib.Path(destination)
            frm = [home / each.split(":", 1)[1] for each in sources]
        for each in frm:
            if each.is_dir():
                shutil.copytree(each, to / each.name, dirs_exist_ok=True)
            elif each.exists():
                shutil.copy(each, to)
            else:
                return subprocess.Popen(["sh", "-c", "exit 1"])
    on_workers(copy)
"""
CURL = '#!/bin/sh\necho "$WORKER"\n'
# A link would not find the environment's packages.
PYTHON = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
# Hours pass at once.
SLEEP = '#!/bin/sh\ncase $1 in 0.*) exec /bin/sleep $1;; esac\necho $1 >> "$FAKE_CLOUD/slept"\n'
DATE = """\
#!/bin/sh
awk '{ sum += $1 * 100 } END { printf "%d\\n", sum }' "$FAKE_CLOUD/slept"
"""


class Cloud:
    """Where the script is run, and what it finds there."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = {"hosts": 2, "states": ["WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"]}
        (folder / "bin").mkdir()
        (folder / "slept").touch()
        tools = {"gcloud": GCLOUD, "curl": CURL, "python3": PYTHON, "sleep": SLEEP, "date": DATE}
        for name, text in tools.items():
            tool = folder / "bin" / name
            tool.write_text(text)
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    @contextlib.contextmanager
    def started(self, source, *arguments, **changes):
        for number in range(self.settings["hosts"]):
            (self.folder / f"host{number}").mkdir()
        (self.folder / "cloud.json").write_text(json.dumps(self.settings))
        (self.folder / "train.py").write_text(textwrap.dedent(source))
        script = self.folder / "train.sh"
        script.write_text(tpu_vm_script(plan_of(arguments=arguments, **changes)))
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("STRATAX_", "SSH_"))
        }
        environment = {
            **inherited,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "FAKE_CLOUD": str(self.folder),
            "HOME": str(self.folder),
        }
        process = subprocess.Popen(
            ["bash", str(script)],
            env=environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def run(self, source, *arguments, **changes):
        with self.started(source, *arguments, **changes) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    @property
    def calls(self):
        """What gcloud was called with, without the group of commands."""
        path = self.folder / "calls"
        return [json.loads(line)[2:] for line in path.read_text().splitlines()] if path.exists() else []

    def verbs(self):
        """The commands in their order, but for questions."""
        return [call[1] for call in self.calls if call[1] != "describe"]

    @property
    def is_rented(self):
        return (self.folder / "there").exists()


@pytest.fixture
def cloud(tmp_path):
    return Cloud(tmp_path)


def plan_of(**changes):
    given = {
        # Two hosts with four chips each.
        "tpu": TpuSlice(generation="v4", shape="2x2x2"),
        "program": "train.py",
        "arguments": (),
        "name": "digits",
        "zone": "us-central2-b",
        "setup": "echo $WORKER > installed",
    }
    return TpuVmPlan(**{**given, **changes})


@pytest.mark.parametrize("module", [False, True])
def test_bash_takes_the_script(module):
    script = tpu_vm_script(
        plan_of(
            program="a 'b'.py\n",
            arguments=("'\"$(rm)`\n",),
            files=("c d",),
            setup="echo '$x'\n",
            module=module,
        )
    )
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


SHOWS = """
import json, os, pathlib, sys
assert pathlib.Path("installed").read_text().strip() == os.environ["WORKER"]
secret = pathlib.Path(os.environ["STRATAX_CLUSTER_SECRET_FILE"])
print(json.dumps([sys.argv[1:], secret.read_text(), oct(secret.stat().st_mode & 0o777), os.environ["STRATAX_JOB_ID"]]))
print("warning", file=sys.stderr)
pathlib.Path("weights").write_text(os.environ["WORKER"])
"""


def test_the_program_runs_on_all_hosts_and_the_tpu_is_given_back(cloud):
    words = ("a b", "$HOME", "'\"*\\", "", "--epochs", "two\nlines")
    code, out, err = cloud.run(
        SHOWS,
        *words,
        spot=True,
        project="ours",
        wait_hours=6,
        results=("weights",),
        runtime_version="v2-alpha",
    )
    assert code == 0, err
    lines = dict(line.split("] ", 1) for line in out.splitlines())
    assert set(lines) == {"[worker 0", "[worker 1"}
    shown = [json.loads(line) for line in lines.values()]
    assert shown[0] == shown[1]
    arguments, secret, mode, job = shown[0]
    assert (arguments, len(secret), mode, job) == (list(words), 64, "0o600", "digits-0")
    assert secret not in json.dumps(cloud.calls)
    assert "[worker 0] warning\n" in err
    assert (cloud.folder / "weights").read_text() == "0"
    assert cloud.verbs() == ["create", "ssh", "scp", "ssh", "ssh", "scp", "delete"]
    where = ["--zone=us-central2-b", "--project=ours"]
    assert all(
        call[3:5] == where or where == [each for each in call if each in where] for call in cloud.calls
    )
    create = next(call for call in cloud.calls if call[1] == "create")
    assert set(create[5:]) == {
        "--node-id=digits",
        "--accelerator-type=v4-16",
        "--runtime-version=v2-alpha",
        "--valid-until-duration=6h",
        "--spot",
    }
    assert not cloud.is_rented
    assert "stratax: waiting for digits: WAITING_FOR_RESOURCES\n" in err


TRAINS = """
import os, sys
sys.path.insert(0, sys.argv[1])
# What has no chips, and simulates them.
import jax
os.environ.pop("TPU_SKIP_MDS_QUERY", None)
from stratax.cluster import _tpu_metadata, _tpu_pod
_tpu_pod.TPU_PORT = int(sys.argv[2])
_tpu_metadata.is_simulated, _tpu_metadata.may_have_tpus = lambda: False, lambda: True
os.chdir("/")
import stratax.tf as tf
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
def replica():
    context = tf.distribute.get_replica_context()
    return context.all_reduce("sum", context.replica_id_in_sync_group + 1.0)
total = strategy.experimental_local_results(strategy.run(replica))[0]
os.write(1, f"<{strategy.num_replicas_in_sync} {float(total)}>\\n".encode())
"""


@pytest.mark.programs
def test_the_hosts_of_a_slice_train_together(cloud):
    endpoints = "a:1:127.0.0.1,b:2:127.0.0.2"
    with contextlib.ExitStack() as stack:
        addresses = [
            stack.enter_context(
                metadata_server({"agent-worker-number": str(number), "worker-network-endpoints": endpoints})
            )
            for number in range(2)
        ]
        cloud.settings["environments"] = [
            {"GCE_METADATA_IP": address, "STRATAX_SIMULATE": "tpu:4", "JAX_PLATFORMS": "cpu"}
            for address in addresses
        ]
        code, out, err = cloud.run(TRAINS, str(CHECKOUT), str(free_ports(1)[0]))
    assert code == 0, err
    # Gloo writes to the same output.
    assert sorted(re.findall(r"\[worker (\d)\] .*<(.*?)>", out)) == [("0", "8 36.0"), ("1", "8 36.0")], out
    assert "has no secret" not in err


ENDS = """
import json, os, pathlib, signal, sys
number, attempt = int(os.environ["WORKER"]), int(os.environ["STRATAX_JOB_ID"].rpartition("-")[2])
print("starts", flush=True)
attempts = json.loads(sys.argv[1])
code = attempts[min(attempt, len(attempts) - 1)][number]
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("attempts", "restarts", "code", "starts"),
    [
        ([[201, 3]], 2, 3, 2),
        ([[201, -9], [202, 201], [0, 0]], 2, 0, 6),
        ([[-9, 201]], 1, 137, 4),
        ([[0, 42]], 0, 42, 2),
        ([[201, 255]], 1, 255, 2),
    ],
)
def test_the_exit_code_is_that_of_the_host_at_fault(cloud, attempts, restarts, code, starts):
    found, out, err = cloud.run(ENDS, json.dumps(attempts), restarts=restarts)
    assert (found, out.count("starts")) == (code, starts), err
    assert not cloud.is_rented


@pytest.mark.parametrize("state", ["FAILED", "SUSPENDED"])
def test_a_request_that_fails_ends_with_its_state_and_reason(cloud, state):
    cloud.settings["states"] = ["ACCEPTED", state]
    code, _, err = cloud.run("")
    assert code == 69
    assert f"stratax: waiting for digits: {state}\nstratax: there will be no digits. Its state:\n" in err
    assert "no more capacity" in err
    assert cloud.verbs() == ["create", "delete"]
    assert not cloud.is_rented


def test_waiting_has_a_limit(cloud):
    # One second of sleep counts as a hundred.
    cloud.settings["states"] = ["WAITING_FOR_RESOURCES"]
    code, _, err = cloud.run("", wait_hours=1)
    assert code == 124
    assert "digits is not there after 1 hours (--wait-hours)" in err
    assert not cloud.is_rented


def test_the_tpu_is_kept_if_that_is_wanted(cloud):
    code, _, err = cloud.run("", keep=True)
    assert code == 0
    assert cloud.is_rented
    assert "gcloud compute tpus queued-resources delete digits --zone=us-central2-b --force" in err


WAITS = """
import os, pathlib, signal, sys, time
def leave(number, frame):
    pathlib.Path("told").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("number", "code", "keep"),
    [
        (signal.SIGINT, 130, False),
        (signal.SIGTERM, 143, False),
        (signal.SIGINT, 130, True),
    ],
)
def test_the_tpu_is_given_back_after_ctrl_c(cloud, number, code, keep):
    with cloud.started(WAITS, keep=keep) as process:
        for _ in range(2):
            assert process.stdout.readline().endswith("ready\n")
        # As a terminal does it for Ctrl-C: to the whole group.
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert cloud.is_rented == keep
    if keep:
        deadline = time.monotonic() + 10
        while not all((cloud.folder / f"host{n}/digits/told").exists() for n in range(2)):
            assert time.monotonic() < deadline, "the program goes on"
            time.sleep(0.05)
    # The hosts' processes are not gone with a TPU that is a folder.
    subprocess.run(
        ["bash", "-c", "for pid in host*/digits/.stratax/run-*/pid; do kill -9 -- -$(cat $pid); done"],
        cwd=cloud.folder,
        check=False,
        capture_output=True,
    )


def test_ctrl_c_while_the_tpu_is_asked_for_gives_it_back(cloud):
    cloud.settings["create_seconds"] = 1
    with cloud.started("") as process:
        assert "asking for v4-16" in process.stderr.readline()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert cloud.verbs() == ["create", "delete"]
    assert not cloud.is_rented


def test_a_lost_connection_is_made_again_and_the_program_goes_on(cloud):
    cloud.settings |= {"dropped": 1, "drops": 1}
    code, out, err = cloud.run(
        """
        import time
        print("starts", flush=True)
        time.sleep(2)
        print("ends")
        """
    )
    assert code == 0, err
    lines = out.splitlines()
    # The second connection shows the last lines again.
    assert sorted(set(lines)) == [f"[worker {n}] {what}" for n in range(2) for what in ("ends", "starts")]
    assert lines.count("[worker 1] ends") == 1
    assert not cloud.is_rented


def test_a_state_that_can_not_be_read_now_and_then_is_asked_for_again(cloud):
    cloud.settings["silent"] = 3
    assert cloud.run("")[0] == 0
    assert not cloud.is_rented


def test_what_can_not_be_deleted_at_once_is_deleted_later(cloud):
    cloud.settings["undeletable"] = 2
    assert cloud.run("")[0] == 0
    assert not cloud.is_rented


def test_what_can_not_be_deleted_is_told(cloud):
    cloud.settings["undeletable"] = 9
    code, _, err = cloud.run("")
    assert code == 1
    assert "could NOT be deleted, and costs money" in err


def test_a_failure_to_install_ends_the_run(cloud):
    code, out, _ = cloud.run("print('runs')", setup="exit 7")
    assert (code, out) == (7, "")
    assert not cloud.is_rented


@pytest.mark.parametrize(
    ("settings", "changes", "code", "message", "verbs"),
    [
        ({}, {"files": ("missing",)}, 2, "there is no missing here", []),
        ({"auth": True}, {}, 2, "gcloud can't tell whether there is a queued resource", []),
        ({"create_code": 5}, {}, 5, "ERROR: quota", ["create"]),
    ],
)
def test_what_is_wrong_before_costs_nothing(cloud, settings, changes, code, message, verbs):
    cloud.settings |= settings
    found, _, err = cloud.run("", **changes)
    assert (found, cloud.verbs()) == (code, verbs), err
    assert message in err


SSH_ADD = """\
#!/bin/sh
if [ "$1" = -L ]; then echo "ssh-rsa KEY-OF-OTHERS"; else echo "$1" >> "$FAKE_CLOUD/added"; exit 1; fi
"""


@pytest.mark.parametrize(("key", "code", "added"), [("MINE", 2, True), ("KEY-OF-OTHERS", 0, False)])
def test_a_key_that_gcloud_can_not_copy_with_is_told_before_it_costs(cloud, key, code, added):
    tool = cloud.folder / "bin" / "ssh-add"
    tool.write_text(SSH_ADD)
    tool.chmod(0o755)
    (cloud.folder / ".ssh").mkdir()
    (cloud.folder / ".ssh" / "google_compute_engine.pub").write_text(f"ssh-rsa {key} me@here\n")
    found, _, err = cloud.run("")
    assert found == code, err
    assert ("Add it: ssh-add" in err, (cloud.folder / "added").exists()) == (added, added)
    assert (cloud.verbs() == []) == added


def test_what_others_have_rented_is_left_alone(cloud):
    (cloud.folder / "there").touch()
    code, _, err = cloud.run("")
    assert (code, cloud.verbs()) == (2, [])
    assert "there is a queued resource digits already" in err
    assert cloud.is_rented


def test_a_module_and_its_package_run_on_one_host(cloud):
    cloud.settings["hosts"] = 1
    package = cloud.folder / "lib"
    package.mkdir()
    (package / "go.py").write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    tpu = TpuSlice(generation="v5e", shape="2x4")
    code, out, err = cloud.run("", "x y", program="lib.go", module=True, files=("lib",), tpu=tpu)
    assert (code, out) == (3, "['x y']\n"), err


@pytest.mark.parametrize(
    ("packages", "files", "installed"),
    [
        (("stratax-train[tpu]",), "train.py", "'stratax-train[tpu]'"),
        (("stratax-train[tpu]>=0.1", "keras-hub"), "train.py", "'stratax-train[tpu]>=0.1' keras-hub"),
        (
            ("jobs/more.txt", "stratax-train[tpu]"),
            "train.py jobs/more.txt",
            "-r more.txt 'stratax-train[tpu]'",
        ),
        (
            ("dist/stratax-1-py3-none-any.whl[tpu]",),
            "train.py dist/stratax-1-py3-none-any.whl",
            "'./stratax-1-py3-none-any.whl[tpu]'",
        ),
        (("a b.whl",), "train.py 'a b.whl'", "'./a b.whl'"),
    ],
)
def test_packages_and_files_with_them_are_installed(packages, files, installed):
    script = tpu_vm_script(plan_of(packages=packages, setup=None))
    assert f"\nfiles=({files})\n" in script
    (line,) = [line for line in script.splitlines() if line.startswith("setup=")]
    (command,) = shlex.split(line.removeprefix("setup="))
    assert command.endswith(f"uv pip install --quiet --python .venv {installed}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packages": ("keras-hub",)}, "Give either packages.*or setup.*keras-hub"),
        ({"setup": None}, "The hosts have no Stratax.*setup=None, packages=.*"),
        ({"wait_hours": 0}, "wait_hours must be at least 1"),
        ({"restarts": -1}, "restarts must be at least 0"),
        ({"name": "Digits"}, "name must have at most 63 characters.*'Digits'"),
        ({"zone": "a b"}, "zone must be one word.*'a b'"),
        ({"project": "$x"}, "project must be one word"),
        ({"runtime_version": ""}, "runtime_version must be one word"),
        ({"results": ("/etc",)}, "results must be paths from the folder of the program.*'/etc'"),
        ({"results": ("a b",)}, "without blanks and quotes"),
        ({"spot": True, "reserved": True}, "Give one of spot and reserved"),
    ],
)
def test_wrong_plans_are_refused(changes, message):
    with pytest.raises(BadArgumentError, match=message):
        plan_of(**changes)
