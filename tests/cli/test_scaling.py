"""`stratax plan` shows slices beside one another."""

import json
import os

import pytest

from stratax.cli import _scaling
from stratax.command.rehearsal import cheapest, parse_topology, plan
from stratax.core.regions import MadeProgram
from tests.cli import command
from tests.cli.test_compile import SMALL
from tests.cluster import forks
from tests.command.rehearsal.devices import needs_libtpu
from tests.command.rehearsal.test_plan import failed, report

MADE = MadeProgram(name="step", compiled=None, donated=())


def test_the_table_tells_where_communication_takes_over_and_what_is_cheapest():
    curves = plan([failed("v5e-4"), report("v5e-8", 0.1), report("v5e-64", 0.1, links=0.2)], {"v5e": 1.0})
    lines = _scaling._table(curves, cheapest(curves), 256 * 3600 * 10).splitlines()
    assert lines[1].split() == ["v5e:2x2", "4", "does", "not", "fit"]
    assert " ".join(lines[2].split()) == "v5e:2x4 8 256 100 ms compute 2.56 K 100% 8.00 8.00"
    assert lines[3].split()[-4:] == ["K", "50%", "64.00", "16.00"]
    title = "v5e, as large a batch on each device"
    assert f"{title}: communication takes over at v5e:8x8." in lines
    assert "An example costs least on v5e:2x4 with a batch of 256: 0.8681 a million." in lines


def test_the_table_has_a_curve_for_each_batch():
    reports = [report("v5e-8", 0.2, batch=64), report("v5e-16", 0.2, links=0.4, batch=64)]
    reports += [report("v5e-8", 0.4, batch=256), failed("v5e-16", kind="batch", batch=256)]
    curves = plan(reports, {})
    text = _scaling._table(curves, None, None)
    lines = text.splitlines()
    assert lines[4].split() == ["v5e:4x4", "16", "256", "does", "not", "divide"]
    bars = [line.split()[1] for line in lines if line.startswith("  v5e")]
    # One of the two batches fits two slices: 320 examples a second, then 160 where 640 would be linear.
    assert bars == ["#" * 24, "#" * 12 + "." * 36]
    assert "v5e, batch 64: communication takes over at v5e:4x4." in text
    assert "v5e, batch 256: communication takes over on none of these slices." in text


@pytest.mark.parametrize("price", ["v5e", "v5e=", "v5e=-1", "v9=1", "v5e=cheap", "v5e=nan"])
def test_prices_are_numbers_for_generations(price, capsys):
    assert command.run(["plan", "--price", price, "program.py"]) == 2
    assert "GENERATION=PRICE" in capsys.readouterr().err


@pytest.mark.parametrize("batch", ["0", "-8", "many", "1.5"])
def test_batches_are_whole_numbers(batch, capsys):
    assert command.run(["plan", "--batch", batch, "program.py"]) == 2
    assert "--batch" in capsys.readouterr().err


def test_a_picture_that_could_not_be_written_is_refused_before_anything_runs(capsys, tmp_path):
    assert command.run(["plan", "--plot", "curve.png", "program.py"]) == 2
    assert "ends with .svg" in capsys.readouterr().err
    assert command.run(["plan", "--plot", str(tmp_path / "none" / "curve.svg"), "program.py"]) == 2
    assert "no folder for the picture" in capsys.readouterr().err


def test_each_batch_is_compiled_for_each_slice(monkeypatch):
    asked = []

    def compile_for(made, topology, batch, arrangement):
        assert arrangement is None
        asked.append((topology.name, batch))
        return report(topology.name, 0.1, batch=batch)

    monkeypatch.setattr("stratax.command.rehearsal.compile_for", compile_for, raising=False)
    topologies = [parse_topology("v5e-8"), parse_topology("v5e-16")]
    found = [call() for call in _scaling._compilations(MADE, topologies, (64, 128), arrange=False)]
    assert asked == [("v5e:2x4", 64), ("v5e:4x4", 64), ("v5e:2x4", 128), ("v5e:4x4", 128)]
    assert _scaling._took(found[1]) == "v5e:4x4, batch 64, 1.0 s"


def test_a_plan_is_values_of_json():
    curves = plan([report("v5e-8", 0.1, batch=64), failed("v5e-16", batch=64)], {"v5e": 1.0})
    found = json.loads(json.dumps(_scaling._as_dict(curves, cheapest(curves), 640, [])))
    assert [point["fits"] for point in found["points"]] == [True, False]
    assert found["points"][0]["hours"] == pytest.approx(1 / 3600)
    (told,) = found["curves"]
    assert told["generation"] == "v5e"
    assert told["batch"] == 64
    assert told["communication_takes_over"] is told["shorter_than_latencies"] is None
    assert (found["cheapest"]["topology"], found["cheapest"]["batch"]) == ("v5e:2x4", 64)


@pytest.mark.programs
@needs_libtpu
@pytest.mark.processes
def test_a_program_is_planned_for_slices_and_batches(tmp_path):
    path, picture = tmp_path / "program.py", tmp_path / "curve.svg"
    path.write_text(SMALL.replace('["/cpu:0", "/cpu:1"]', "") + "model.fit(x, y, verbose=0)")
    options = ["--topology", "v5e-8", "--topology", "v5e-16", "--batch", "64", "--batch", "72"]
    command = ["-m", "stratax", "plan", *options, "--plot", picture, "--json", path]
    done = forks.run(command, dict(os.environ))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["points"]
    assert [(each["topology"], each["batch"], each["examples"], each["fits"]) for each in found] == [
        ("v5e:2x4", 64, 64, True),
        ("v5e:4x4", 64, 64, True),
        ("v5e:2x4", 72, 72, True),
        ("v5e:4x4", 72, 0, False),
    ]
    assert found[3]["failure"]["kind"] == "batch"
    assert "v5e, batch 64" in picture.read_text()


def test_a_step_that_is_shorter_than_its_latencies_is_told_so():
    names = ("v5e-8", "v5e-16")
    curves = plan([report(name, 1e-8, dispatch=2e-4) for name in names], {"v5e": 1.0})
    found = _scaling._table(curves, cheapest(curves), None)
    assert "at v5e:2x4 a step is shorter than its latencies" in found
    assert "Rent v5e:2x4; more chips pay only with" in found
    assert "An example costs least on v5e:2x4" in found
    curves = plan([report("v5e-8", 0.1, batch=64), report("v5e-16", 1e-8, batch=64, dispatch=2e-4)], {})
    assert "Rent v5e:2x4 at most" in _scaling._table(curves, None, None)
    assert "dispatch" in _scaling._table(curves, None, None)
