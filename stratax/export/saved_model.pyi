from ._loaded_objects import LoadedObject as LoadedObject
from ._loaded_objects import contains_saved_model as contains_saved_model
from ._loaded_objects import load as load
from ._saved_objects import of_endpoint as of_endpoint
from ._saved_objects import save as save
from ._saved_objects import write_object as write_object
from ._saved_options import LoadOptions as LoadOptions
from ._saved_options import SaveOptions as SaveOptions
