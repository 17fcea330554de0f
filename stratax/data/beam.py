"""Transforms of Apache Beam, which `pip install 'stratax[beam,images]'` installs (data layer).

Importing this module imports Beam, so nothing else of Stratax does.
"""

from stratax.data.convert._beam import ConvertImages

__all__ = ["ConvertImages"]
