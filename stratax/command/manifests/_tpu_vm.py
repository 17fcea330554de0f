"""The script that rents TPU VMs, runs a program on all of them, and gives them back (manifests layer)."""

import dataclasses
import re
import shlex

from stratax.base.shown import shown
from stratax.cluster.launching import JOB_ID_VARIABLE, SECRET_FILE_VARIABLE, check_least
from stratax.command.manifests._tasks import BY_FAULT
from stratax.command.manifests._tpus import TpuSlice
from stratax.errors import BadArgumentError

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.:/]*")
# The software of TPU VMs has Python 3.10, and its package of 3.11 is a preview of that: uv brings one of its own.
_INSTALL = (
    "python3 -m pip install --quiet --user uv && python3 -m uv venv --quiet --allow-existing --python 3.12 .venv && "
    "python3 -m uv pip install --quiet --python .venv {packages}"
)
# A file of this machine: requirements, or a wheel, perhaps with extras.
_LOCAL = re.compile(r"(?P<file>.+\.(txt|whl))(?P<extras>\[[^\]]*\])?")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuVmPlan:
    """What to run, and on what.

    Attributes:
        tpu: The slice.
        program: The program: a file of this machine, which is copied to every host, or a module.
        arguments: Its arguments, as on the hosts.
        name: The name of the queued resource, and of the TPU.
        zone: Where it is.
        project: The project that pays; None for gcloud's own.
        module: Whether the program is a module, as for ``python -m``.
        files: Files and folders of this machine that are copied beside the program.
        packages: What is installed on each host, Stratax among it: requirements as for pip, and files of this machine
            with them (``.txt``) or wheels (``.whl``), which are copied, too.
        setup: What each host runs instead of that, in the folder of the program. Its ``.venv`` is used, if there is one
            then. It may run twice, if a connection is lost. Either this or `packages` is given.
        results: Files and folders beside the program that are copied here from the first host at the end.
        runtime_version: The software of the VMs; None for the one that JAX runs on.
        spot: Whether the VMs may be taken away.
        reserved: Whether they are of a reservation.
        wait_hours: How long to wait until they are there.
        restarts: How often all hosts may start the program again after a failure that is worth it.
        keep: Whether they are kept at the end.

    Raises:
        BadArgumentError: If a value is out of range or of the wrong form.
    """

    tpu: TpuSlice
    program: str
    arguments: tuple[str, ...]
    name: str
    zone: str
    project: str | None = None
    module: bool = False
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    setup: str | None = None
    results: tuple[str, ...] = ()
    runtime_version: str | None = None
    spot: bool = False
    reserved: bool = False
    wait_hours: int = 24
    restarts: int = 0
    keep: bool = False

    def __post_init__(self) -> None:
        check_least("wait_hours", self.wait_hours, 1)
        check_least("restarts", self.restarts, 0)
        if not _NAME.fullmatch(self.name):
            raise BadArgumentError(
                "name must have at most 63 characters, which are lower-case letters, digits and hyphens; it begins "
                f"with a letter and does not end with a hyphen. Received: name={shown(self.name)}."
            )
        for field in ("zone", "project", "runtime_version"):
            value = getattr(self, field)
            if value is not None and not _WORD.fullmatch(value):
                raise BadArgumentError(
                    f"{field} must be one word without quotes. Received: {field}={shown(value)}."
                )
        for result in self.results:
            if result.startswith(("/", "~", "-")) or not _WORD.fullmatch(result):
                raise BadArgumentError(
                    "results must be paths from the folder of the program, without blanks and quotes. "
                    f"Received: results={shown(result)}."
                )
        if (self.setup is None) == (not self.packages):
            raise BadArgumentError(
                "The hosts have no Stratax. Give either packages that they install (--install: a wheel of Stratax with "
                "what the program needs, such as 'dist/stratax_train-0.1.0-py3-none-any.whl[tpu]'), or setup, a "
                "command that they run instead (--setup). "
                f"Received: setup={shown(self.setup)}, packages={shown(self.packages)}."
            )
        if self.spot and self.reserved:
            raise BadArgumentError(
                "VMs are either of a reservation or such as may be taken away. Give one of spot and reserved. "
                "Received: both."
            )


def tpu_vm_script(plan: TpuVmPlan) -> str:
    """Return a bash script that rents TPU VMs as a queued resource, runs the program on all hosts, and deletes them.

    Its exit code is 0 only if the program's is on all hosts, else that of the host at fault; 69 if there will be no
    TPU, 124 if there was none in time. The queued resource is deleted at the end, also after Ctrl-C, SIGTERM or an
    error, unless the plan keeps it. It needs `gcloud`, logged in.

    On each host the program runs apart from the connection to it: one that is lost is made again, and the program goes
    on meanwhile. All hosts start it again after a retryable `ExitCode`, if the plan allows it.

    Args:
        plan: What to run.

    Example:
        >>> slice = TpuSlice(generation="v5e", shape="4x4")
        >>> wheel = "dist/stratax_train-0.1.0-py3-none-any.whl[tpu]"
        >>> plan = TpuVmPlan(
        ...     tpu=slice, program="train.py", arguments=(), name="digits", zone="us-west4-a", packages=(wheel,)
        ... )
        >>> print(tpu_vm_script(plan))  # doctest: +ELLIPSIS
        #!/usr/bin/env bash
        # Runs train.py on the 4 hosts of v5litepod-16, which are rented for it and given back.
        ...
    """
    where = [f"--zone={plan.zone}", *([f"--project={plan.project}"] if plan.project else [])]
    tier = [*(["--spot"] if plan.spot else []), *(["--reserved"] if plan.reserved else [])]
    program = ["-m", plan.program] if plan.module else [plan.program.rpartition("/")[2]]
    hosts = f"{plan.tpu.num_hosts} hosts" if plan.tpu.num_hosts > 1 else "host"
    header = _HEADER.format(
        title=f"{shown(plan.program)[1:-1]} on the {hosts} of {plan.tpu.accelerator_type}",
        name=plan.name,
        where=" ".join(where),
        accelerator=plan.tpu.accelerator_type,
        runtime=plan.runtime_version or plan.tpu.runtime_version,
        tier=" ".join(tier),
        hours=plan.wait_hours,
        hosts=plan.tpu.num_hosts,
        restarts=plan.restarts,
        keep="1" if plan.keep else "",
        files=shlex.join(_files(plan)),
        results=" ".join(plan.results),
        setup=shlex.quote(_INSTALL.format(packages=_packages(plan)) if plan.setup is None else plan.setup),
        command=shlex.quote(shlex.join([*program, *plan.arguments])),
        # The later one tells more of why the hosts ended.
        retryable=" ".join(str(int(code)) for code in reversed(BY_FAULT)),
        secret=SECRET_FILE_VARIABLE,
        job=JOB_ID_VARIABLE,
    )
    return header + _BODY


def _files(plan: TpuVmPlan) -> list[str]:
    """Return what is copied: the program, what was named, and what is installed from here."""
    local = [match["file"] for each in plan.packages if (match := _LOCAL.fullmatch(each))]
    program = [] if plan.module else [plan.program]
    return list(dict.fromkeys([*program, *plan.files, *(local if plan.setup is None else [])]))


def _packages(plan: TpuVmPlan) -> str:
    """Return what is installed as words for a shell, with files where they are on the hosts."""
    words = []
    for each in plan.packages:
        match = _LOCAL.fullmatch(each)
        name = match["file"].rpartition("/")[2] if match else ""
        if not match:
            words.append(each)
        elif name.endswith(".txt"):
            words += ["-r", name]
        else:
            words.append(f"./{name}{match['extras'] or ''}")
    return shlex.join(words)


_HEADER = """\
#!/usr/bin/env bash
# Runs {title}, which are rented for it and given back.
set -uo pipefail

name={name}
where=({where})
accelerator={accelerator}
runtime={runtime}
tier=({tier})
wait_hours={hours}
hosts={hosts}
restarts={restarts}
keep={keep}
# What is copied to each host beside the program, and from the first one at the end.
files=({files})
results=({results})
# What each host runs first, and then with Python.
setup={setup}
command={command}
# Exit codes that are worth another try; those that tell more of the fault are first.
retryable=({retryable})
secret_variable={secret} job_variable={job}
"""

_BODY = r"""
say() { echo "stratax: $*" >&2; }
now() { date +%s; }
queued() { gcloud compute tpus queued-resources "$1" "$name" "${where[@]}" "${@:2}"; }
state() { queued describe --format='value(state.state)'; }
vm() { gcloud compute tpus tpu-vm "$@" "${where[@]}" --quiet; }
on_hosts() { vm ssh "$name" --worker=all --command "$1"; }

# Bash hears of signals while it waits for what runs in the background, not while it runs something else.
child=""
run() {
  local code=0
  "$@" < /dev/null &
  child=$!
  wait "$child" || code=$?
  child=""
  return "$code"
}
kill_tree() {
  local each
  for each in $(pgrep -P "$1"); do kill_tree "$each"; done
  kill "$1" 2> /dev/null
}

command -v gcloud > /dev/null || { say "gcloud is not installed here: https://cloud.google.com/sdk"; exit 2; }
for file in ${files[@]+"${files[@]}"}; do
  [[ -e $file ]] || { say "there is no $file here, which the hosts are to have."; exit 2; }
done
# Only what was not there before may be deleted later.
if found=$(state 2>&1); then
  say "there is a queued resource $name already ($found). Delete it, or take another name (--name)."
  exit 2
elif [[ ! $found =~ NOT_FOUND|[Nn]ot\ found ]]; then
  say "gcloud can't tell whether there is a queued resource $name: $found"
  exit 2
fi
# gcloud copies to several hosts only with a key that the agent has, if one runs.
key=~/.ssh/google_compute_engine
if ((hosts > 1)) && [[ -e $key.pub ]] && known=$(ssh-add -L 2> /dev/null); then
  [[ $known == *"$(cut -d ' ' -f 2 "$key.pub")"* ]] || ssh-add "$key" || {
    say "the agent for SSH doesn't have gcloud's key. Add it: ssh-add $key"
    exit 2
  }
fi

private=$(mktemp -d) || exit 2
stopped=""
end() {
  local code=$? each
  trap '' INT TERM HUP
  trap - EXIT
  [[ -z $child ]] || kill_tree "$child"
  rm -rf "$private"
  if [[ -n $keep ]]; then
    # What was interrupted would go on there.
    case $code in 129 | 130 | 143) on_hosts "bash $name/.stratax/host.sh stop" < /dev/null ;; esac
    say "$name is kept, and costs money. Delete it:" \
      "gcloud compute tpus queued-resources delete $name ${where[*]} --force"
    exit "$code"
  fi
  say "deleting $name"
  for each in 1 2 3; do
    queued delete --force --quiet < /dev/null && exit "$code"
    sleep 10
  done
  say "$name could NOT be deleted, and costs money. Delete it:" \
    "gcloud compute tpus queued-resources delete $name ${where[*]} --force"
  exit $((code ? code : 1))
}

say "asking for $accelerator as $name"
# Whether it was asked for must be known before it can be deleted, so signals wait.
trap 'stopped=130' INT
trap 'stopped=143' TERM
trap 'stopped=129' HUP
(
  trap '' INT TERM HUP
  queued create --node-id="$name" --accelerator-type="$accelerator" --runtime-version="$runtime" \
    --valid-until-duration="${wait_hours}h" ${tier[@]+"${tier[@]}"} < /dev/null
) &
child=$!
while true; do
  code=0
  wait "$child" || code=$?
  kill -0 "$child" 2> /dev/null || break
done
child=""
if ((code)) && ! state > /dev/null 2>&1; then
  rm -rf "$private"
  exit "${stopped:-$code}"
fi
# From here on it costs money until it is deleted.
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
[[ -z $stopped ]] || exit "$stopped"
((code == 0)) || exit "$code"

lost() {
  say "$1 Its state:"
  queued describe --format='yaml(state)' < /dev/null >&2
}
# A request that is in time may still have to be provided.
deadline=$(($(now) + wait_hours * 3600 + 1800))
current="" before="" silent=0
while true; do
  if current=$(state < /dev/null); then
    silent=0
    [[ $current == "$before" ]] || say "waiting for $name: $current"
    before=$current
  else
    silent=$((silent + 1))
    ((silent < 10)) || { say "the state of $name can't be read."; exit 1; }
  fi
  case $current in
    ACTIVE) break ;;
    FAILED | SUSPENDING | SUSPENDED | DELETING)
      lost "there will be no $name."
      exit 69
      ;;
  esac
  (($(now) < deadline)) || { lost "$name is not there after $wait_hours hours (--wait-hours)."; exit 124; }
  run sleep 15
done

# The hosts' secret, of this run only; in a file, since everybody may read what a process was called with.
mkdir -m 700 "$private/.stratax"
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$private/.stratax/secret")
echo "$setup" > "$private/.stratax/setup.sh"
# A connection that is lost is made again by gcloud, with the same command: so the first one starts the program, and
# those that come later go on with what it prints.
{
  printf 'command=(%s)\nhosts=%q name=%q\n' "$command" "$hosts" "$name"
  printf 'secret_variable=%q job_variable=%q\n' "$secret_variable" "$job_variable"
  cat << 'HOST'
cd "$(dirname "$0")/.." || exit 1
if [[ $1 == stop ]]; then
  for pid in .stratax/run-*/pid; do kill -TERM -- "-$(cat "$pid")" 2> /dev/null; done
  exit 0
fi
folder=.stratax/run-$1 lines=10
mkdir -p "$folder"
# Held until it is known what runs: a connection may be lost at any time, also while the program is started.
exec 9> "$folder/lock"
flock 9
if [[ ! -e $folder/pid ]]; then
  lines=+1
  # Whatever is copied with: nobody else on the host may read it.
  chmod 600 .stratax/secret
  export PYTHONUNBUFFERED=1 "$job_variable=$name-$1" "$secret_variable=$PWD/.stratax/secret"
  export PATH="$PWD/.venv/bin:$PATH"
  touch "$folder/out" "$folder/err"
  setsid bash -c '
    trap : TERM INT
    folder=$1
    shift
    echo "$$" > "$folder/pid.new"
    mv "$folder/pid.new" "$folder/pid"
    exec 9>&-
    code=0
    python3 "$@" > "$folder/out" 2> "$folder/err" || code=$?
    echo "$code" > "$folder/code.new"
    mv "$folder/code.new" "$folder/code"
  ' bash "$folder" "${command[@]}" < /dev/null > /dev/null 2>&1 &
fi
exec 9> "$folder/lock"
flock 9
exec 9>&-
pid=$(cat "$folder/pid") || exit 1
label=""
if ((hosts > 1)); then
  metadata=http://${GCE_METADATA_IP:-metadata.google.internal}/computeMetadata/v1
  label="[worker $(curl -sf --max-time 10 -H 'Metadata-Flavor: Google' \
    "$metadata/instance/attributes/agent-worker-number" || hostname)] "
fi
follow() { tail -s 0.2 -n "$lines" -f --pid="$pid" "$1" | sed -u "s|^|$label|"; }
follow "$folder/err" >&2 &
follow "$folder/out"
wait
code=$(cat "$folder/code" || echo 1)
# 255 would mean that the connection was lost.
exit $((code < 255 ? code : 1))
HOST
} > "$private/.stratax/host.sh"

say "copying to $hosts host(s)"
run on_hosts "mkdir -p $name" || exit
run vm scp --recurse --worker=all ${files[@]+"${files[@]}"} "$private/.stratax" "$name:$name/" || exit
say "installing: $setup"
run on_hosts "cd $name && bash .stratax/setup.sh" || exit

# The code of the host at fault: that of another one tells only that it was lost.
at_fault() {
  local code each
  for code in "$@"; do
    [[ " 0 ${retryable[*]} " == *" $code "* ]] || { echo "$code"; return; }
  done
  for each in "${retryable[@]}" 0; do
    [[ " $* " != *" $each "* ]] || { echo "$each"; return; }
  done
}
# Runs the program on all hosts; where one can't be reached, they are asked again, while there is such a TPU.
attempt_on_hosts() {
  local codes again
  for ((again = 0; again < 20; again++)); do
    run on_hosts "bash $name/.stratax/host.sh $1" && return 0
    run on_hosts "echo code=\$(cat $name/.stratax/run-$1/code)" > "$private/codes"
    read -r -d '' -a codes <<< "$(sed -n 's/^code=\([0-9][0-9]*\)$/\1/p' "$private/codes")"
    ((${#codes[@]} < hosts)) || return "$(at_fault "${codes[@]}")"
    current=$(state < /dev/null) || current=unknown
    [[ $current == ACTIVE || $current == unknown ]] || { lost "hosts of $name are lost."; return 69; }
    say "some of $name's hosts can't be reached; trying again."
    run sleep 30
  done
  say "some of $name's hosts can't be reached any more."
  return 69
}

for ((attempt = 0; ; attempt++)); do
  say "running on $hosts host(s): $command"
  code=0
  attempt_on_hosts "$attempt" || code=$?
  say "the program ended with exit code $code"
  [[ " ${retryable[*]} " == *" $code "* ]] && ((attempt < restarts)) || break
  pause=$((2 ** (attempt < 6 ? attempt : 6)))
  say "all hosts start it again in $pause s"
  run sleep "$pause"
done
for result in ${results[@]+"${results[@]}"}; do
  run vm scp --recurse --worker=0 "$name:$name/$result" . || say "$result could not be copied from the first host."
done
exit "$code"
"""
