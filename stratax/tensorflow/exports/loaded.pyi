from ._loaded_objects import CallableObject as CallableObject
from ._loaded_objects import LoadedConcreteFunction as LoadedConcreteFunction
from ._loaded_objects import LoadedFunction as LoadedFunction
from ._loaded_objects import LoadedObject as LoadedObject
from ._loaded_objects import SignatureMap as SignatureMap
