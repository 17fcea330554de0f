"""`tf.saved_model.SaveOptions` and `LoadOptions` (export layer)."""

import dataclasses
from typing import Any


@dataclasses.dataclass(slots=True)
class SaveOptions:
    """How an object is saved, as `tf.saved_model.SaveOptions`.

    Only `extra_tags` means something: the others are about TensorFlow's graphs, debug files and remote file systems.
    They are accepted for programs that were carried over.

    Attributes:
        namespace_whitelist: Ignored.
        save_debug_info: Ignored.
        function_aliases: Ignored.
        experimental_debug_stripper: Ignored.
        experimental_io_device: Ignored: files are written by the process that saves.
        experimental_variable_policy: Ignored: a variable is saved once, and made by the scope in which it is loaded.
        experimental_custom_gradients: Ignored: derivatives are always saved where there are some.
        experimental_image_format: Ignored.
        experimental_skip_saver: Ignored.
        experimental_sharding_callback: Ignored.
        extra_tags: Tags beside ``"serve"``.
    """

    namespace_whitelist: Any = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None


@dataclasses.dataclass(slots=True)
class LoadOptions:
    """How an object is loaded, as `tf.saved_model.LoadOptions`.

    They are accepted for programs that were carried over, and ignored: a folder is read whole, by the process that
    loads it.

    Attributes:
        allow_partial_checkpoint: Ignored.
        experimental_io_device: Ignored.
        experimental_skip_checkpoint: Ignored: variables have the values that were saved.
        experimental_variable_policy: Ignored.
        experimental_load_function_aliases: Ignored.
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None
    experimental_load_function_aliases: bool = False
