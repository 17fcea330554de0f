"""`stratax manifest`: what runs a program as the workers of a cluster on Kubernetes or Slurm (cli layer)."""

from collections.abc import Callable
from typing import Any

import click

from stratax.manifests import (
    KUBERNETES_PORT,
    SLURM_PORT,
    KubernetesPlan,
    SlurmPlan,
    kubernetes_manifest,
    name_for,
    slurm_script,
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


def _shared(port: int) -> Callable[[_Command], _Command]:
    """Add the options and arguments that both kinds have."""
    options = [
        click.option("--workers", type=click.IntRange(min=1), metavar="N", required=True, help="Workers."),
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
@_shared(KUBERNETES_PORT)
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
def kubernetes(
    program: str, arguments: tuple[str, ...], module: bool, name: str | None, **settings: Any
) -> None:
    """Print an indexed Job that sets TF_CONFIG, its headless Service and its Secret, for kubectl apply.

    With a chief, parameter servers or an evaluator, there is a Job for each type of task.

    PROGRAM is the path in the image.

    \b
    stratax manifest kubernetes --workers 3 --image registry/digits:1 train.py --epochs 3 | kubectl apply -f -
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped is the control character
    command = _command(program, arguments, is_module=module)
    plan = KubernetesPlan(command=command, name=name or name_for(program), **settings)
    click.echo(kubernetes_manifest(plan), nl=False)


@manifest.command(context_settings=_SETTINGS)
@_shared(SLURM_PORT)
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


def _command(program: str, arguments: tuple[str, ...], *, is_module: bool) -> tuple[str, ...]:
    """Return the command where the program will run, which need not be there here."""
    return ("python", *(["-m"] if is_module else []), program, *arguments)
