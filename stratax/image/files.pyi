from ._files import kind_of as kind_of
from ._packages import package as package
from ._pillow import decode as decode
from ._pillow import open_image as open_image
