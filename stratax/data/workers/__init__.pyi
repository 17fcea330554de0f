from ._interrupts import workers_without_interrupts as workers_without_interrupts
from ._map import make_worker_map as make_worker_map
from ._processes import reason_of_death as reason_of_death
from ._processes import start_executor as start_executor
