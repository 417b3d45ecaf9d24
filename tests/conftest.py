"""What every test shares: on the build server random examples repeat from run to run, and time decides nothing; every strict
capture is watched for code of the program that runs natively.
"""

from __future__ import annotations

import os

from hypothesis import settings

from tests.dynamo_lite.strict.leaks import nothing_escapes

__all__ = ["nothing_escapes"]

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")
