"""`stratax plan` shows slices beside one another."""

import pytest

from stratax.cli import _main, _scaling
from stratax.rehearsal import cheapest, plan
from tests.rehearsal.test_plan import failed, report


def test_the_table_tells_where_communication_takes_over_and_what_is_cheapest():
    points = plan([failed("v5e-4"), report("v5e-8", 0.1), report("v5e-64", 0.1, links=0.2)], {"v5e": 1.0})
    lines = _scaling._table(points, cheapest(points), 256 * 3600 * 10).splitlines()
    assert lines[1].split() == ["v5e:2x2", "4", "does", "not", "fit"]
    assert lines[2].split() == [
        "v5e:2x4",
        "8",
        "256",
        "100",
        "ms",
        "compute",
        "2.56e+03",
        "100%",
        "8.00",
        "8.00",
    ]
    assert lines[3].split()[-4:] == ["1.02e+04", "50%", "64.00", "16.00"]
    assert lines[4:] == ["Communication takes over at v5e:8x8.", "An example costs least on v5e:2x4."]


@pytest.mark.parametrize("price", ["v5e", "v5e=", "v5e=-1", "v9=1", "v5e=cheap", "v5e=nan"])
def test_prices_are_numbers_for_generations(price, capsys):
    assert _main.run(["plan", "--price", price, "program.py"]) == 2
    assert "GENERATION=PRICE" in capsys.readouterr().err
