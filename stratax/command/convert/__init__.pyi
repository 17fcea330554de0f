from ._conversion import ConversionProgress as ConversionProgress
from ._conversion import ConversionReport as ConversionReport
from ._conversion import convert_images as convert_images
from ._settings import ConversionSettings as ConversionSettings
from ._settings import read_classes as read_classes
