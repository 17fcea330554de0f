"""What private modules of TensorFlow hold that programs import, one module for each (tf layer)."""
