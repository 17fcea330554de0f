"""The Slurm batch script, run by bash with stand-ins for `srun` and `scontrol` that do what Slurm's do."""

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

import psutil
import pytest

from stratax.cluster import SlurmClusterResolver, TFConfigClusterResolver, is_retryable
from stratax.command.manifests import SlurmPlan, slurm_script
from stratax.errors import BadArgumentError
from tests.cluster.processes import free_ports

pytestmark = pytest.mark.processes

SRUN = f"""\
#!{sys.executable}
'''Runs a command as every task of a step, and gives the highest exit code, as Slurm's srun does.'''
import json, os, subprocess, sys
command = sys.argv[1:]
options = []
while command[0].startswith("--"):
    options.append(command.pop(0))
with open("sruns", "a") as file:
    file.write(json.dumps(options) + "\\n")
tasks = [
    subprocess.Popen(command, env={{**os.environ, "SLURM_PROCID": str(n)}})
    for n in range(int(os.environ["SLURM_NTASKS"]))
]
codes = [task.wait() for task in tasks]
sys.exit(max(128 - code if code < 0 else code for code in codes))
"""
SCONTROL = f"""\
#!{sys.executable}
import sys
if sys.argv[1:3] == ["show", "hostnames"]:
    print(sys.argv[3].replace(",", "\\n"))
else:
    with open("scontrols", "a") as file:
        file.write(" ".join(sys.argv[1:]) + "\\n")
"""
# A link would not find the environment's packages.
PYTHON = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'


class Job:
    """A job's folder and environment."""

    def __init__(self, folder):
        self._folder = folder
        (folder / "bin").mkdir()
        for name, text in (
            ("srun", SRUN),
            ("scontrol", SCONTROL),
            ("sleep", "#!/bin/sh\n"),
            ("python", PYTHON),
        ):
            tool = folder / "bin" / name
            tool.write_text(text)
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    @contextlib.contextmanager
    def started(self, program, *arguments, nodes="localhost", **settings):
        (self._folder / "train.py").write_text(textwrap.dedent(program))
        plan = plan_of(command=("python", "train.py", *arguments), **settings)
        script = self._folder / "job.sh"
        script.write_text(slurm_script(plan))
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLURM_", "STRATAX_", "TF_CONFIG"))
        }
        environment = {
            **inherited,
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "JAX_PLATFORMS": "cpu",
            "SLURM_JOB_ID": "17",
            "SLURM_JOB_NODELIST": nodes,
            "SLURM_TASKS_PER_NODE": f"{plan.workers_per_node}(x{plan.num_tasks // plan.workers_per_node})",
            "SLURM_NTASKS": str(plan.num_tasks),
        }
        process = subprocess.Popen(
            ["bash", str(script)],
            env=environment,
            cwd=self._folder,
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

    def run(self, program, *arguments, **settings):
        with self.started(program, *arguments, **settings) as process:
            out, err = process.communicate(timeout=90)
        return process.returncode, out, err

    def lines(self, name):
        path = self._folder / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def plan_of(**changes):
    given = {"command": ("python", "train.py"), "workers": 2, "workers_per_node": 2, "name": "digits"}
    return SlurmPlan(**{**given, **changes})


def options_of(**changes):
    lines = slurm_script(plan_of(**changes)).splitlines()
    return [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]


FULL = {
    "workers": 6,
    "gpus_per_worker": 4,
    "cpus_per_worker": 8,
    "memory": "64G",
    "time": "2-12:00",
    "partition": "gpu",
    "account": "lab",
    "restarts": 3,
    "notice": 90,
}


@pytest.mark.parametrize("settings", [{}, FULL], ids=["least", "everything"])
def test_bash_takes_the_script(settings):
    script = slurm_script(plan_of(**settings, command=("python", "a b.py", "'\"$(rm)`\n")))
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_sbatch_gets_what_was_asked_for():
    assert options_of() == [
        "--job-name=digits",
        "--nodes=1",
        "--ntasks=2",
        "--ntasks-per-node=2",
        "--no-requeue",
    ]
    assert options_of(**FULL) == [
        "--job-name=digits",
        "--nodes=3",
        "--ntasks=6",
        "--ntasks-per-node=2",
        "--gpus-per-task=4",
        "--cpus-per-task=8",
        "--mem=64G",
        "--time=2-12:00",
        "--signal=TERM@90",
        "--partition=gpu",
        "--account=lab",
        "--open-mode=append",
        "--requeue",
    ]
    # Nobody would start it again: then the notice is only lost time.
    assert not any("signal" in option for option in options_of(time="10"))


def test_all_tasks_of_a_job_have_one_secret_and_no_other_job_has(job):
    secrets = set()
    for _ in range(2):
        code, out, err = job.run(
            "import os; os.write(1, os.environ['STRATAX_CLUSTER_SECRET'].encode() + b'\\n')"
        )
        lines = out.splitlines()
        assert (code, len(lines)) == (0, 2), err
        assert len(set(lines)) == 1
        secrets |= set(lines)
        assert lines[0] not in "".join(job.lines("sruns"))
    assert len(secrets) == 2
    assert {len(secret) for secret in secrets} == {64}


SERVED = {"workers": 2, "chief": True, "ps": 2, "evaluator": True, "workers_per_node": 3}


def test_tasks_of_all_types_find_themselves_in_tf_config(job):
    program = "import os; os.write(1, os.environ['TF_CONFIG'].encode() + b'\\n')"
    code, out, err = job.run(program, nodes="n1,n2", **SERVED)
    configs = [json.loads(line) for line in out.splitlines()]
    assert (code, len(configs)) == (0, 6), err
    cluster = {"chief": ["n1:8888"], "worker": ["n1:8889", "n1:8890"], "ps": ["n2:8888", "n2:8889"]}
    assert all(config["cluster"] == cluster for config in configs)
    assert sorted((config["task"]["type"], config["task"]["index"]) for config in configs) == [
        ("chief", 0),
        ("evaluator", 0),
        ("ps", 0),
        ("ps", 1),
        ("worker", 0),
        ("worker", 1),
    ]


FAULTY = """
import json, os, signal, sys
task = json.loads(os.environ["TF_CONFIG"])["task"]
name = f"{task['type']}{task['index']}"
with open("starts", "a") as file:
    file.write(name + "\\n")
what = json.loads(sys.argv[1]).get(name)
if what == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(what or 0)
"""


@pytest.mark.parametrize(
    ("faults", "code", "starts"),
    [
        ({"worker1": "killed", "evaluator0": 1}, 0, {"worker1": 2}),
        ({"worker0": 3}, 0, {}),
        ({"chief0": 3, "worker1": 201}, 3, {}),
        ({"chief0": 201, "ps1": "killed", "worker0": 201}, 137, {"all": 2}),
    ],
)
def test_with_servers_a_killed_worker_is_started_again_alone(job, faults, code, starts):
    found, _, err = job.run(FAULTY, json.dumps(faults), restarts=1, nodes="n1,n2", **SERVED)
    assert found == code, err
    lines = job.lines("starts")
    counts = {name: lines.count(name) for name in set(lines)}
    each = starts.get("all", 1)
    assert counts == {
        name: starts.get(name, each) for name in ("chief0", "worker0", "worker1", "ps0", "ps1", "evaluator0")
    }


def test_every_task_finds_its_cluster_by_tf_config_and_by_the_resolver(job, monkeypatch):
    code, out, err = job.run(
        """
        import json, os, sys
        names = ("TF_CONFIG", "SLURM_PROCID", "SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE")
        sys.stdout.write(json.dumps([{name: os.environ[name] for name in names}, sys.argv[1:]]) + "\\n")
        """,
        *(words := ["a b", "$HOME", "'\"*\\", ""]),
        nodes="n1,n2",
        workers=4,
        cpus_per_worker=3,
    )
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4), err
    addresses = ["n1:8888", "n1:8889", "n2:8888", "n2:8889"]
    seen = []
    for variables, arguments in map(json.loads, lines):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        by_config, by_slurm = TFConfigClusterResolver(), SlurmClusterResolver(auto_set_gpu=False)
        assert by_config.cluster_spec() == by_slurm.cluster_spec() == {"worker": addresses}
        assert (by_config.task_type, by_config.task_id) == by_slurm.get_task_info()
        assert arguments == words
        seen.append(by_config.task_id)
    assert sorted(seen) == [0, 1, 2, 3]
    assert job.lines("sruns") == ['["--distribution=block", "--kill-on-bad-exit=0", "--cpus-per-task=3"]']


@pytest.mark.programs
def test_two_tasks_train_together(job):
    (port,) = free_ports(1)
    code, out, err = job.run(
        """
        import os
        import stratax as sx
        strategy = sx.distribute.MultiWorkerMirroredStrategy()
        ones = strategy.run(lambda: sx.distribute.get_replica_context().all_reduce("sum", 1.0))
        os.write(1, f"<sum {float(strategy.experimental_local_results(ones)[0])}>\\n".encode())
        """,
        port=port,
    )
    assert code == 0, err
    # Both tasks write to the same pipe, and Gloo's lines come in pieces.
    assert re.findall("<sum (.*?)>", out) == ["2.0", "2.0"], out


ENDS = """
import json, os, sys
codes = json.loads(sys.argv[1])
attempt, task = int(os.environ["STRATAX_ATTEMPT"]), int(os.environ["SLURM_PROCID"])
if task == 0:
    print(attempt, os.environ["STRATAX_JOB_ID"], flush=True)
code = codes[min(attempt, len(codes) - 1)][task]
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def test_all_are_started_again_when_one_is_lost(job):
    code, out, err = job.run(ENDS, "[[-9, 201], [201, 204], [0, 0]]", restarts=2)
    assert code == 0
    assert out.splitlines() == ["0 17-0-0", "1 17-0-1", "2 17-0-2"]
    assert "exit code 137; all workers are started again in 1 s" in err
    assert "exit code 204; all workers are started again in 2 s" in err


@pytest.mark.parametrize("code", [1, 2, 3, 6, 42, 70, 78, 130, 139])
def test_a_failure_that_would_come_again_ends_the_job_with_its_code(job, code):
    assert not is_retryable(code)
    ended, out, _ = job.run(ENDS, json.dumps([[201, code]]), restarts=2)
    assert (ended, len(out.splitlines())) == (code, 1)


@pytest.mark.parametrize(("codes", "code"), [([201, 202], 202), ([-9, 201], 137), ([201, 201], 201)])
def test_restarts_end_and_the_code_is_that_of_the_task_at_fault(job, codes, code):
    ended, out, _ = job.run(ENDS, json.dumps([codes]), restarts=1)
    assert (ended, len(out.splitlines())) == (code, 2)


@pytest.mark.parametrize(("restarts", "requeued"), [(1, ["requeue 17"]), (0, [])])
def test_who_saved_before_the_time_limit_is_queued_again(job, restarts, requeued):
    ended, out, _ = job.run(ENDS, "[[203, 203]]", restarts=restarts)
    assert (ended, len(out.splitlines())) == (203, 1)
    assert job.lines("scontrols") == requeued


SAVES = """
import os, signal, sys, time
def save(number, frame):
    time.sleep(0.3)
    os.write(1, b"saved\\n")
    sys.exit(203)
signal.signal(signal.SIGTERM, save)
os.write(1, b"ready\\n")
time.sleep(60)
"""


def test_a_task_has_time_to_save_and_a_cancelled_job_is_not_queued_again(job):
    with job.started(SAVES, restarts=3) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        # To all processes at once. In Slurm srun, which only passes signals on, is none of the tasks'.
        subprocess.run(["bash", "-c", f"kill -TERM {' '.join(_without_srun(process.pid))}"], check=True)
        out, err = process.communicate(timeout=90)
    assert process.returncode == 203, err
    assert out.splitlines() == ["saved"] * 2
    assert job.lines("scontrols") == []


def _without_srun(leader):
    everyone = [psutil.Process(leader), *psutil.Process(leader).children(recursive=True)]
    return [str(process.pid) for process in everyone if "srun" not in shlex.join(process.cmdline()[:2])]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"workers": 3}, "multiple of workers_per_node.*workers=3, workers_per_node=2"),
        ({"workers_per_node": 0}, "workers_per_node must be at least 1"),
        ({"gpus_per_worker": -1}, "gpus_per_worker must be at least 0"),
        ({"cpus_per_worker": 0}, "cpus_per_worker must be at least 1"),
        ({"restarts": -1}, "restarts must be at least 0"),
        ({"notice": 0}, "notice must be at least 1"),
        ({"port": 65535}, "port must be between 1 and 65534"),
        ({"name": "a\nb"}, "name must be one word"),
        ({"memory": "64 G"}, "memory must be one word.*'64 G'"),
        ({"partition": ""}, "partition must be one word"),
        ({"account": "'"}, "account must be one word"),
        (
            {"time": "1:00", "restarts": 1, "notice": 60},
            "notice must be shorter.*notice=60.*'1:00', which is 60 sec",
        ),
        ({"time": "1-2:03", "restarts": 1, "notice": 93780}, "'1-2:03', which is 93780 seconds"),
        ({"time": "2:03:04", "restarts": 1, "notice": 7384}, "'2:03:04', which is 7384 seconds"),
        ({"time": "3", "restarts": 1, "notice": 200}, "'3', which is 180 seconds"),
        ({"time": "an hour"}, "time must be minutes, or as in '4:00:00'.*'an hour'"),
    ],
)
def test_wrong_plans_are_refused(changes, message):
    with pytest.raises(BadArgumentError, match=message):
        plan_of(**changes)


@pytest.mark.parametrize("time", ["30", "30:00", "4:00:00", "2-0", "2-12:00", "2-12:00:00"])
def test_times_are_as_slurm_writes_them(time):
    assert f"--time={time}" in options_of(time=time)
