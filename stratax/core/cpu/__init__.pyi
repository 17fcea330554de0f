from ._filled import fill_on_host as fill_on_host
from ._install import install as install
from ._joined import join_small as join_small
from ._runs import few_runs as few_runs
from ._shared import MAX_HELD as MAX_HELD
from ._shared import hold_shared as hold_shared
