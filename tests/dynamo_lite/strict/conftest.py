"""Every strict capture of the tests in this folder is watched for code that runs natively."""

from __future__ import annotations

from tests.dynamo_lite.strict.leaks import nothing_escapes

__all__ = ["nothing_escapes"]
