#!/bin/sh
# Rewrites constraints.txt with the newest versions that pyproject.toml allows: ./tools/lock.sh PYTHON FOLDER
# FOLDER is made for an environment with uv in it, and removed again.
set -eu
python=$1
folder=$2
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check uv
UV_CUSTOM_COMPILE_COMMAND="make lock" "$folder/bin/uv" pip compile --quiet --upgrade --no-annotate \
  --extra dev pyproject.toml --output-file constraints.txt
rm -rf "$folder"
