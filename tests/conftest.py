"""What all tests share."""

import os
import shutil

import pytest


@pytest.fixture
def tool():
    """Find a program that only some machines have: skip without it, but never in CI."""

    def find(name, package):
        path = shutil.which(name)
        if path is None:
            missing = f"{name} is not installed (Debian: apt-get install {package})"
            pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
        return path

    return find
