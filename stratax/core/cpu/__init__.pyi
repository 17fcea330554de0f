from ._filled import fill_on_host as fill_on_host
from ._install import install as install
from ._joined import join_small as join_small
from ._runs import few_runs as few_runs
