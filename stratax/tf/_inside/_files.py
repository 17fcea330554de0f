"""Files read and written whole, as `tensorflow.python.lib.io.file_io` has it (tf layer)."""

from stratax.io.gfile import GFile


def read_file_to_string(filename: str, binary_mode: bool = False) -> str | bytes:
    """Return what is in a file.

    Args:
        filename: Its path.
        binary_mode: Whether as bytes.
    """
    with GFile(filename, "rb" if binary_mode else "r") as file:
        content: str | bytes = file.read()
        return content


def write_string_to_file(filename: str, file_content: str) -> None:
    """Write text into a file.

    Args:
        filename: Its path.
        file_content: The text.
    """
    with GFile(filename, "w") as file:
        file.write(file_content)
