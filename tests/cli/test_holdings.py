"""The picture of which device holds what is an SVG whose pieces are the parts of variables."""

import dataclasses
from xml.etree import ElementTree

from stratax.cli import holdings
from stratax.command.rehearsal import HeldVariable, Memory, ProgramReport, parse_topology

MIB = 2**20
ZERO = {field.name: 0 for field in dataclasses.fields(Memory)}


def report(mesh, *held):
    memory = Memory(**ZERO | {"weights": 3 * MIB, "slots": 6 * MIB, "temporaries": MIB, "code": MIB})
    return ProgramReport(
        name="step",
        topology=parse_topology("v5e:4x4"),
        compile_seconds=1.0,
        memory=memory,
        mesh=mesh,
        held=held,
    )


def variable(path, *axes, parts=1):
    shape = (1024,) * len(axes)
    return HeldVariable(path=path, shape=shape, axes=axes, bytes=4 * MIB // parts, bytes_in_all=4 * MIB)


def drawn(text):
    root = ElementTree.fromstring(text)
    texts = ["".join(each.itertext()) for each in root if each.tag.endswith("text")]
    return texts, [each.get("fill") for each in root if each.tag.endswith("rect")]


def test_devices_are_pieces_in_the_colors_of_what_they_have():
    held = [variable("up/kernel", None, "shard", parts=8), variable("up/<bias>", None)]
    texts, fills = drawn(holdings.as_svg([report({"replica": 2, "shard": 8, "model": 1}, *held)]))
    assert texts[0] == "step on v5e:4x4: 2 groups of 8"
    assert "up/kernel  (1024 x 1024 by shard): 8 parts, 512.0 KiB on each" in texts
    assert "up/<bias>  (1024): a copy on each device, 4.0 MiB on each" in texts
    assert "A device: 11.0 MiB of 16.0 GiB" in texts
    # Two groups of devices and the variable's pieces have eight colors, the whole one has its own.
    colors = [fill for fill in fills if fill.startswith("hsl")]
    assert (len(colors), len(set(colors))) == (24, 8)
    assert fills.count("#b9c2cd") == 1


def test_neighbours_have_shades_of_one_color_and_what_is_too_much_is_counted():
    held = [variable(f"layer_{number}/kernel", "model", "shard", parts=512) for number in range(20)]
    texts, _ = drawn(holdings.as_svg([report({"replica": 1, "shard": 128, "model": 4}, *held)]))
    assert texts[0] == "step on v5e:4x4: 128 parts, 4 neighbours share a part of the batch"
    assert "... 512 devices" in texts
    assert "4 smaller ones: 32.0 KiB on each" in texts


def test_what_does_not_compile_is_left_out():
    failed = ProgramReport(name="step", topology=parse_topology("v5e:4x4"), compile_seconds=1.0)
    assert drawn(holdings.as_svg([failed])) == ([], ["#ffffff"])
