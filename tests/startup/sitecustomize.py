"""Lets Keras be imported in half the time, by the processes that tests start.

Python imports this when it starts: the folder is in PYTHONPATH (tests/conftest.py). Keras, while it is imported, finds
none of the packages below, as with users who have not installed them. Programs find all at any other time.
"""

import sys

HIDDEN = ("IPython", "matplotlib", "pandas", "sklearn")


class _Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in HIDDEN and _is_imported_now("keras"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _is_imported_now(name):
    # What Python itself looks at when another thread imports the same module.
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


sys.meta_path.insert(0, _Hidden)
