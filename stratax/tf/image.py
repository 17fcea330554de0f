"""`tf.image`, with what TensorFlow 1 had under other names (tf layer)."""

from stratax.image import ResizeMethod as ResizeMethod
from stratax.image import adjust_brightness as adjust_brightness
from stratax.image import adjust_contrast as adjust_contrast
from stratax.image import adjust_gamma as adjust_gamma
from stratax.image import adjust_hue as adjust_hue
from stratax.image import adjust_saturation as adjust_saturation
from stratax.image import central_crop as central_crop
from stratax.image import convert_image_dtype as convert_image_dtype
from stratax.image import crop_to_bounding_box as crop_to_bounding_box
from stratax.image import decode_and_crop_jpeg as decode_and_crop_jpeg
from stratax.image import decode_bmp as decode_bmp
from stratax.image import decode_gif as decode_gif
from stratax.image import decode_image as decode_image
from stratax.image import decode_jpeg as decode_jpeg
from stratax.image import decode_png as decode_png
from stratax.image import decode_webp as decode_webp
from stratax.image import encode_jpeg as encode_jpeg
from stratax.image import encode_png as encode_png
from stratax.image import extract_jpeg_shape as extract_jpeg_shape
from stratax.image import flip_left_right as flip_left_right
from stratax.image import flip_up_down as flip_up_down
from stratax.image import grayscale_to_rgb as grayscale_to_rgb
from stratax.image import hsv_to_rgb as hsv_to_rgb
from stratax.image import is_jpeg as is_jpeg
from stratax.image import pad_to_bounding_box as pad_to_bounding_box
from stratax.image import per_image_standardization as per_image_standardization
from stratax.image import random_brightness as random_brightness
from stratax.image import random_contrast as random_contrast
from stratax.image import random_crop as random_crop
from stratax.image import random_flip_left_right as random_flip_left_right
from stratax.image import random_flip_up_down as random_flip_up_down
from stratax.image import random_hue as random_hue
from stratax.image import random_saturation as random_saturation
from stratax.image import resize as resize
from stratax.image import resize_area as resize_area
from stratax.image import resize_bicubic as resize_bicubic
from stratax.image import resize_bilinear as resize_bilinear
from stratax.image import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from stratax.image import resize_images as resize_images
from stratax.image import resize_nearest_neighbor as resize_nearest_neighbor
from stratax.image import resize_with_crop_or_pad as resize_with_crop_or_pad
from stratax.image import resize_with_pad as resize_with_pad
from stratax.image import rgb_to_grayscale as rgb_to_grayscale
from stratax.image import rgb_to_hsv as rgb_to_hsv
from stratax.image import rot90 as rot90
from stratax.image import stateless_random_brightness as stateless_random_brightness
from stratax.image import stateless_random_contrast as stateless_random_contrast
from stratax.image import stateless_random_crop as stateless_random_crop
from stratax.image import stateless_random_flip_left_right as stateless_random_flip_left_right
from stratax.image import stateless_random_flip_up_down as stateless_random_flip_up_down
from stratax.image import stateless_random_hue as stateless_random_hue
from stratax.image import stateless_random_saturation as stateless_random_saturation
from stratax.image import transpose as transpose
from stratax.image import transpose_image as transpose_image
from stratax.tf._names import missing_name

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "is_jpeg",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_saturation",
    "transpose",
    "transpose_image",
]
__getattr__ = missing_name(__name__, __all__)
