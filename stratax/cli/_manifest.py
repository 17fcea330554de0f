"""`stratax manifest`: what runs a program as the workers of a cluster, or on the hosts of a TPU (cli layer)."""

from collections.abc import Callable
from typing import Any

import click

from stratax.command.manifests import (
    KUBERNETES_PORT,
    SLURM_PORT,
    KubernetesPlan,
    SlurmPlan,
    TpuSlice,
    TpuVmPlan,
    kubernetes_manifest,
    name_for,
    slurm_script,
    tpu_vm_script,
)

_Command = Callable[..., None]
_SETTINGS = {"allow_interspersed_args": False}


class _VolumeType(click.ParamType):
    """A command-line value such as ``my-claim:/checkpoints``."""

    name = "claim:/path"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, str]:
        """Split `value`; the plan checks the parts."""
        claim, _, path = str(value).partition(":")
        return claim, path


def _tpu_slice(name: str, chips_per_host: int | None = None) -> TpuSlice:
    from stratax.command.rehearsal import parse_topology

    generation, _, shape = parse_topology(name).name.partition(":")
    return TpuSlice(generation=generation, shape=shape, chips_per_host=chips_per_host or 0)


def _add_shared(port: int, *, workers_needed: bool = True) -> Callable[[_Command], _Command]:
    """Add the options and arguments that both kinds have."""
    options = [
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            required=workers_needed,
            help="Workers." if workers_needed else "Workers; on a TPU there is one on each host.",
        ),
        click.option("--chief", is_flag=True, help="A chief besides the workers."),
        click.option(
            "--ps", type=click.IntRange(min=0), metavar="N", default=0, help="Parameter servers besides them."
        ),
        click.option("--evaluator", is_flag=True, help="An evaluator besides them."),
        click.option("--name", help="The job's name.  [default: from PROGRAM]"),
        click.option(
            "--gpus-per-worker", type=click.IntRange(min=0), metavar="N", default=0, help="GPUs of each."
        ),
        click.option(
            "--port", type=click.IntRange(1, 65535), default=port, show_default=True, help="Their port."
        ),
        click.option(
            "--restarts",
            type=click.IntRange(min=0),
            metavar="N",
            default=0,
            show_default=True,
            help="How often all are started again after a failure that is worth it; with --ps a worker alone.",
        ),
        click.option("-m", "--module", is_flag=True, help="PROGRAM is a module, as for python -m."),
        click.argument("program"),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED),
    ]

    def decorate(command: _Command) -> _Command:
        # Decorators apply from the last to the first; the help lists them in the order above.
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group()
def manifest() -> None:
    """Print what runs a program as several workers on a cluster."""


@manifest.command(context_settings=_SETTINGS)
@_add_shared(KUBERNETES_PORT, workers_needed=False)
@click.option("--image", required=True, help="The container image with the program and Stratax.")
@click.option("--namespace", help="The namespace.  [default: that of kubectl]")
@click.option("--cpus", metavar="QUANTITY", help="CPUs of each worker, such as 4 or 500m.")
@click.option("--memory", metavar="QUANTITY", help="Memory of each worker, such as 16Gi.")
@click.option(
    "--volume",
    "volumes",
    type=_VolumeType(),
    multiple=True,
    help="Mounts a volume's claim in every worker, for data and checkpoints. May be given several times.",
)
@click.option(
    "--secret",
    metavar="NAME",
    help="A Secret whose key 'secret' holds the cluster's secret.  [default: a new one is printed]",
)
@click.option(
    "--tpu",
    "topology",
    metavar="SLICE",
    help="Runs on the hosts of a TPU slice in GKE, such as v5e:4x4 or v5e-16.",
)
@click.option(
    "--chips-per-host",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --tpu: 4 where the eight chips of a slice are on two nodes.",
)
@click.option("--spot", is_flag=True, help="With --tpu: on nodes that may be taken away.")
@click.option("--reservation", metavar="NAME", help="With --tpu: on nodes of a reservation.")
def kubernetes(
    program: str,
    arguments: tuple[str, ...],
    module: bool,
    name: str | None,
    workers: int | None,
    topology: str | None,
    chips_per_host: int | None,
    **settings: Any,
) -> None:
    """Print an indexed Job that sets TF_CONFIG, its headless Service and its Secret, for kubectl apply.

    With a chief, parameter servers or an evaluator, there is a Job for each type of task. With --tpu, the pods run on
    the hosts of a TPU slice, which find one another without TF_CONFIG.

    PROGRAM is the path in the image.

    \b
    stratax manifest kubernetes --workers 3 --image registry/digits:1 train.py --epochs 3 | kubectl apply -f -
    stratax manifest kubernetes --tpu v5e:4x4 --image registry/digits:1 train.py --epochs 3 | kubectl apply -f -
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    tpu = None if topology is None else _tpu_slice(topology, chips_per_host)
    if tpu is None:
        if workers is None:
            raise click.UsageError("Missing option '--workers', or '--tpu'.")
        if chips_per_host:
            raise click.UsageError("--chips-per-host is said of a TPU's hosts: give --tpu, too.")
    plan = KubernetesPlan(
        command=_command(program, arguments, is_module=module),
        name=name or name_for(program),
        workers=workers or (tpu.num_hosts if tpu else 1),
        tpu=tpu,
        **settings,
    )
    click.echo(kubernetes_manifest(plan), nl=False)


@manifest.command(context_settings=_SETTINGS)
@_add_shared(SLURM_PORT)
@click.option(
    "--workers-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="How many workers share a node.",
)
@click.option("--cpus-per-worker", type=click.IntRange(min=1), metavar="N", help="CPUs of each worker.")
@click.option("--memory", metavar="SIZE", help="Memory of each node, such as 64G.")
@click.option("--time", metavar="LIMIT", help="The time limit, such as 4:00:00 or 2-0.")
@click.option("--partition", help="The partition.")
@click.option("--account", help="The account that pays.")
@click.option(
    "--notice",
    type=click.IntRange(min=1),
    metavar="S",
    default=120,
    show_default=True,
    help="With --time and --restarts: SIGTERM so long before the time limit.",
)
def slurm(program: str, arguments: tuple[str, ...], module: bool, name: str | None, **settings: Any) -> None:
    """Print a batch script that sets TF_CONFIG, for sbatch.

    PROGRAM is the path on the nodes, from the folder in which sbatch is called.

    \b
    stratax manifest slurm --workers 3 --time 4:00:00 train.py --epochs 3 > train.sbatch
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    command = _command(program, arguments, is_module=module)
    click.echo(slurm_script(SlurmPlan(command=command, name=name or name_for(program), **settings)), nl=False)


@manifest.command("tpu-vm", context_settings=_SETTINGS)
@click.option(
    "--topology", metavar="SLICE", required=True, help="The TPU slice, such as v5e:4x4, v5e-16 or v3-8."
)
@click.option("--zone", metavar="ZONE", required=True, help="Where it is, such as us-west4-a.")
@click.option("--project", metavar="PROJECT", help="The project that pays.  [default: that of gcloud]")
@click.option("--name", help="The TPU's name.  [default: from PROGRAM]")
@click.option(
    "--copy",
    "files",
    type=click.Path(),
    multiple=True,
    help="A file or folder that is copied beside the program. May be given several times.",
)
@click.option(
    "--install",
    "packages",
    metavar="PACKAGE",
    multiple=True,
    help="What is installed on each host, with Python 3.12, Stratax among it: a wheel here (.whl, perhaps with "
    "extras), a file here with requirements (.txt), or as for pip. May be given several times.",
)
@click.option(
    "--setup",
    metavar="COMMAND",
    help="What each host runs first, beside the program, instead of installing.",
)
@click.option(
    "--fetch",
    "results",
    metavar="PATH",
    multiple=True,
    help="A file or folder beside the program that is copied here from the first host at the end. May be given several "
    "times.",
)
@click.option("--runtime-version", metavar="NAME", help="The VMs' software.  [default: that for JAX]")
@click.option("--spot", is_flag=True, help="VMs that may be taken away.")
@click.option("--reserved", is_flag=True, help="VMs of a reservation.")
@click.option(
    "--wait-hours",
    type=click.IntRange(min=1),
    metavar="N",
    default=24,
    show_default=True,
    help="How long to wait for the TPU.",
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="How often all hosts start the program again after a failure that is worth it.",
)
@click.option("--keep", is_flag=True, help="Does not delete the TPU at the end.")
@click.option(
    "-m", "--module", is_flag=True, help="PROGRAM is a module, as for python -m; --copy its package."
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def tpu_vm(program: str, name: str | None, topology: str, **settings: Any) -> None:
    """Print a script that rents TPU VMs, runs PROGRAM on all their hosts, and gives them back.

    It asks for a queued resource, waits for it, copies PROGRAM to each host, installs what it needs, and shows what it
    prints. The TPU is deleted at the end, also after Ctrl-C or an error, with all that was not fetched. The script
    needs gcloud, logged in; its exit code is that of the program on the host at fault, 69 if there will be no TPU, 124
    if there was none in time.

    \b
    pip wheel --no-deps --wheel-dir dist .   # in a clone of Stratax
    WHEEL='dist/stratax_train-0.1.0-py3-none-any.whl[tpu]'
    stratax manifest tpu-vm --topology v5e:4x4 --zone us-west4-a --install "$WHEEL" train.py > train.sh
    bash train.sh
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    plan = TpuVmPlan(tpu=_tpu_slice(topology), program=program, name=name or name_for(program), **settings)
    click.echo(tpu_vm_script(plan), nl=False)


def _command(program: str, arguments: tuple[str, ...], *, is_module: bool) -> tuple[str, ...]:
    """Return the command where the program will run, which need not be there here."""
    return ("python", *(["-m"] if is_module else []), program, *arguments)
