#!/bin/sh
# Make the environment in .venv, or bring it up to date:
#
#   sh build/setup.sh         what dlf needs to run
#   sh build/setup.sh dev     and what its tests and its build need
#
# Needs Python 3.11 or later; PYTHON names another one than python3. On Debian the module that
# makes environments is a package of its own, which is installed when it is missing and we may.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
extra=${1:-}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: $python is older than Python 3.11; set PYTHON to a newer one" >&2
    exit 2
fi
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -q && apt-get install -q -y --no-install-recommends python3-venv
    else
        echo "setup: $python cannot make environments; install Debian's python3-venv" >&2
        exit 2
    fi
fi

# Nothing to do when this very pyproject.toml was installed already.
stamp=.venv/.setup-${extra:-run}
if [ ! -e "$stamp" ] || ! cmp -s pyproject.toml "$stamp"; then
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"
    cp pyproject.toml "$stamp"
fi
