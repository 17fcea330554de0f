"""Options that several subcommands share (cli layer)."""

from typing import TYPE_CHECKING

import click

from stratax.errors import SimulationError

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices


class SimulatedDevicesType(click.ParamType):
    """A command-line value such as ``tpu:8``."""

    name = "kind:count"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> "SimulatedDevices":
        """Read `value`; a wrong one fails as click's own types do, with exit code 2."""
        from stratax.cluster import SimulatedDevices, parse_specification

        if isinstance(value, SimulatedDevices):
            return value
        try:
            return parse_specification(str(value))
        except SimulationError as error:
            self.fail(str(error), parameter, context)


simulate_option = click.option(
    "--simulate",
    type=SimulatedDevicesType(),
    help="Present this host's CPU as several devices: tpu:8, gpu:4, cpu:2.",
)


def apply_simulation(simulated: "SimulatedDevices | None") -> None:
    """Simulate what `--simulate` asked for, if it was given; JAX must not have started."""
    if simulated is not None:
        from stratax.cluster import simulate_devices

        simulate_devices(simulated.count, simulated.kind)
