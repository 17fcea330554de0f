"""Labelled images into files of records, once, before training (convert layer).

`stratax convert images` does the same from the command line, `stratax.convert.beam` with Apache Beam.
"""

from stratax.convert._conversion import ConversionProgress, ConversionReport, convert_images
from stratax.convert._settings import ConversionSettings, read_classes

__all__ = ["ConversionProgress", "ConversionReport", "ConversionSettings", "convert_images", "read_classes"]
