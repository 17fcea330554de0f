"""The Slurm batch script that runs a program as the workers of a cluster (manifests layer)."""

import dataclasses
import itertools
import re
import shlex

from stratax.base.shown import shown
from stratax.cluster import ExitCode
from stratax.cluster.launching import check_least, check_port
from stratax.command.manifests._tasks import BY_FAULT, tasks_of
from stratax.errors import BadArgumentError

# The port of a node's first worker: the one that `SlurmClusterResolver` takes, too.
SLURM_PORT = 8888

_WORD = re.compile(r"[^\s\"'`$\\]+")
_TIME = re.compile(r"([0-9]+-)?[0-9]+(:[0-9]{1,2}){0,2}")
# The codes of a worker that was killed: with parameter servers it is started again alone.
_KILLED = (134, 137, 143)

# What is added to a permanent code that has the number of such a place.
_SHIFT = 240


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SlurmPlan:
    """What to run, and on what.

    Attributes:
        command: The program and its arguments, as on the nodes.
        workers: How many workers.
        name: The job's name.
        workers_per_node: How many of them share a node.
        gpus_per_worker: How many GPUs each gets.
        cpus_per_worker: How many CPUs each gets; None for what Slurm gives.
        memory: How much memory each node gives, such as ``"64G"``; None for what Slurm gives.
        time: The time limit, as Slurm writes it (``"4:00:00"``, ``"2-0"``); None for the partition's.
        partition: The partition; None for Slurm's default.
        account: The account that pays; None for the user's own.
        port: The port of a node's first worker; the others of the node have the next ones.
        restarts: How often all may be started again after a failure that is worth it.
        notice: How long before the time limit the workers get SIGTERM, in seconds, so that they can save and be queued
            again. Only with a time limit and restarts.
        chief: Whether there is a chief besides the workers.
        ps: How many parameter servers there are. With them a worker that has failed is started again alone.
        evaluator: Whether there is an evaluator.

    Raises:
        BadArgumentError: If a value is out of range or of the wrong form.
    """

    command: tuple[str, ...]
    workers: int
    name: str
    workers_per_node: int = 1
    gpus_per_worker: int = 0
    cpus_per_worker: int | None = None
    memory: str | None = None
    time: str | None = None
    partition: str | None = None
    account: str | None = None
    port: int = SLURM_PORT
    restarts: int = 0
    notice: int = 120
    chief: bool = False
    ps: int = 0
    evaluator: bool = False

    @property
    def tasks(self) -> tuple[tuple[str, int], ...]:
        """How many tasks there are of each type, in the order of their numbers."""
        return tasks_of(self.workers, chief=self.chief, ps=self.ps, evaluator=self.evaluator)

    @property
    def num_tasks(self) -> int:
        """How many tasks there are."""
        return sum(count for _, count in self.tasks)

    def __post_init__(self) -> None:
        least = {
            "workers": 1,
            "workers_per_node": 1,
            "gpus_per_worker": 0,
            "restarts": 0,
            "notice": 1,
            "ps": 0,
        }
        for field, minimum in least.items():
            check_least(field, getattr(self, field), minimum)
        check_least("cpus_per_worker", 1 if self.cpus_per_worker is None else self.cpus_per_worker, 1)
        check_port("port", self.port, self.workers_per_node)
        if self.num_tasks % self.workers_per_node:
            others = (
                "" if self.num_tasks == self.workers else f" and {self.num_tasks - self.workers} other tasks"
            )
            raise BadArgumentError(
                "The workers must be spread evenly over the nodes, so workers must be a multiple of workers_per_node; "
                "a chief, parameter servers and an evaluator count as workers there. Received: "
                f"workers={shown(self.workers)}{others}, workers_per_node={shown(self.workers_per_node)}."
            )
        for field in ("name", "memory", "partition", "account"):
            value = getattr(self, field)
            if value is not None and not _WORD.fullmatch(value):
                raise BadArgumentError(
                    f"{field} must be one word without quotes. Received: {field}={shown(value)}."
                )
        if self.time is not None and not _TIME.fullmatch(self.time):
            raise BadArgumentError(
                "time must be minutes, or as in '4:00:00' or '2-12:00' (days, hours, minutes). "
                f"Received: time={shown(self.time)}."
            )
        if self.time is not None and self.restarts and self.notice >= _seconds(self.time):
            raise BadArgumentError(
                "notice must be shorter than the time limit: else the workers would be told to save as soon as they "
                f"start, and be queued again without end. Received: notice={self.notice} (seconds), "
                f"time={shown(self.time)}, which is {_seconds(self.time)} seconds."
            )


def _seconds(time: str) -> int:
    """Return a time limit of Slurm's in seconds: minutes, minutes:seconds, hours:minutes:seconds, or days-hours:..."""
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days or len(parts) == 3:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def slurm_script(plan: SlurmPlan) -> str:
    """Return a script for `sbatch`.

    Task n of the step is worker n; with tasks of other types the chief is first, and parameter servers and the
    evaluator are last. TF_CONFIG lists the nodes that Slurm chose; `SlurmClusterResolver` finds the same cluster of
    workers. All are started again, on the same nodes, after a retryable `ExitCode`; when a node is lost, Slurm puts the
    job back into its queue. Every other failure ends the job, with its exit code. Where there are parameter servers, a
    worker that was killed is started again alone, and the exit codes of the chief and the servers are those that count.

    Args:
        plan: What to run.

    Example:
        >>> plan = SlurmPlan(command=("python", "train.py"), workers=2, name="digits", time="1:00:00")
        >>> print(slurm_script(plan))  # doctest: +ELLIPSIS
        #!/bin/bash
        #SBATCH --job-name=digits
        #SBATCH --nodes=2
        ...
    """
    options = "".join(f"#SBATCH {option}\n" for option in _options(plan))
    return f"#!/bin/bash\n{options}\n{_body(plan)}"


def _options(plan: SlurmPlan) -> list[str]:
    restartable = plan.restarts > 0
    values = {
        "job-name": plan.name,
        "nodes": plan.num_tasks // plan.workers_per_node,
        "ntasks": plan.num_tasks,
        "ntasks-per-node": plan.workers_per_node,
        "gpus-per-task": plan.gpus_per_worker or None,
        "cpus-per-task": plan.cpus_per_worker,
        "mem": plan.memory,
        "time": plan.time,
        "signal": f"TERM@{plan.notice}" if plan.time and restartable else None,
        "partition": plan.partition,
        "account": plan.account,
        "open-mode": "append" if restartable else None,
    }
    given = [f"--{name}={value}" for name, value in values.items() if value is not None]
    return [*given, "--requeue" if restartable else "--no-requeue"]


def _body(plan: SlurmPlan) -> str:
    # srun is given the codes' places, from 1 on.
    places = {int(code): place for place, code in enumerate(BY_FAULT, start=1)}
    starts = itertools.accumulate((count for _, count in plan.tasks), initial=0)
    segments = [(job, start, count) for (job, count), start in zip(plan.tasks, starts, strict=False)]
    return _TEMPLATE.format(
        # An evaluator is in no cluster.
        cluster=", ".join(
            _SLICE.format(job=job, start=start, count=count)
            for job, start, count in segments
            if job != "evaluator"
        ),
        roles="\n  ".join(_ROLE.format(job=job, start=start) for job, start, _ in segments),
        run=_run(plan),
        locals=" ".join(map(str, range(plan.workers_per_node))),
        port=plan.port,
        places=" ".join(f"{code}) exit {place} ;;" for code, place in places.items()),
        codes=" ".join(f"{place}) code={code} ;;" for code, place in places.items()),
        count=len(places),
        shift=_SHIFT,
        last=_SHIFT + len(places),
        retryable="|".join(str(code) for code in places),
        preempted=int(ExitCode.PREEMPTED),
        restarts=plan.restarts,
        cpus=f" --cpus-per-task={plan.cpus_per_worker}" if plan.cpus_per_worker else "",
        command=shlex.join(plan.command),
    )


def _run(plan: SlurmPlan) -> str:
    if not plan.ps:
        return _TOGETHER
    return _ALONE.format(
        restarts=plan.restarts,
        chief="false" if plan.chief else "[[ $index == 0 ]]",
        killed="|".join(map(str, _KILLED)),
    )


_SLICE = '\\"{job}\\": [$(joined "${{hosts[@]:{start}:{count}}}")]'
_ROLE = "((SLURM_PROCID >= {start})) && type={job} index=$((SLURM_PROCID - {start}))"
_TOGETHER = """\
  "$@"
  code=$?"""

# With parameter servers the others go on without a worker, and the chief's code is that of the job.
_ALONE = """\
  for ((again = 0; ; again++)); do
    "$@"
    code=$?
    [[ $type == worker && $again -lt {restarts} ]] || break
    case $code in
      {killed}) echo "stratax: worker $index ended with exit code $code, and is started again." >&2 ;;
      *) break ;;
    esac
  done
  if [[ $type == evaluator ]] || {{ [[ $type == worker ]] && ! {chief}; }}; then
    ((code > 0)) && echo "stratax: $type $index ended with exit code $code; the others go on." >&2
    code=0
  fi"""

_TEMPLATE = """\
# Load modules, and activate the environment that has the program's packages, here.

hosts=()
for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
  for local in {locals}; do
    hosts+=("\\"$host:$(({port} + local))\\"")
  done
done
joined() {{
  local IFS=,
  echo "$*"
}}
export STRATAX_CLUSTER="{{{cluster}}}" PYTHONUNBUFFERED=1

# The workers' secret, of this job only. Nobody else can read their environment.
STRATAX_CLUSTER_SECRET=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')
export STRATAX_CLUSTER_SECRET

# What each task runs. Of all tasks' exit codes srun gives the highest, and a task that only lost another has a high
# one: so the codes that are worth another try become the lowest, and are told apart again below.
task='
  {roles}
  export TF_CONFIG="{{\\"cluster\\": $STRATAX_CLUSTER, \\
\\"task\\": {{\\"type\\": \\"$type\\", \\"index\\": $index}}}}"
  trap : TERM INT
{run}
  case $code in
    {places}
  esac
  exit $((code > 0 && code <= {count} ? code + {shift} : code))
'

restarts={restarts}
ended=""
trap 'ended=1' TERM
for ((attempt = 0; ; attempt++)); do
  export STRATAX_ATTEMPT=$attempt STRATAX_JOB_ID="$SLURM_JOB_ID-${{SLURM_RESTART_COUNT:-0}}-$attempt"
  srun --distribution=block --kill-on-bad-exit=0{cpus} \\
    bash -c "$task" task {command}
  code=$?
  case $code in
    {codes}
  esac
  ((code > {shift} && code <= {last})) && code=$((code - {shift}))
  case $code in
    {retryable}) ;;
    *) exit $code ;;
  esac
  # Where Slurm ends this shell too, the job was cancelled, or loses its nodes and is queued again by Slurm.
  [[ -n $ended ]] && exit $code
  if [[ $code == {preempted} && $restarts -gt 0 ]]; then
    echo "stratax: saved before the time limit; the job is queued again." >&2
    scontrol requeue "$SLURM_JOB_ID"
    exit $code
  fi
  [[ $attempt -ge $restarts ]] && exit $code
  pause=$((2 ** (attempt < 6 ? attempt : 6)))
  echo "stratax: exit code $code; all workers are started again in $pause s." >&2
  sleep "$pause"
done
"""
