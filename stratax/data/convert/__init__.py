"""Labelled images into files of records, once, before training (data layer).

`stratax convert images` does the same from the command line, `stratax.data.beam` with Apache Beam.
"""

from stratax.data.convert._conversion import ConversionProgress, ConversionReport, convert_images
from stratax.data.convert._settings import ConversionSettings, read_classes

__all__ = ["ConversionProgress", "ConversionReport", "ConversionSettings", "convert_images", "read_classes"]
