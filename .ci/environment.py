"""Environments of their own for the commands of the README, made on first use with nothing but Python and pip."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def environment(name: str, extras: str, also: tuple[str, ...] = ()) -> Path:
    """The Python of the environment ``name``, with this project and ``extras`` in it; ``also`` is installed without dependencies."""
    folder = ROOT / name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + repr((extras, also)).encode()
    ).hexdigest()
    stamp = folder / "complete"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {folder.name} ...", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if "torch" in extras or "transformers" in extras:
            # Named with its exact version first, so that pip takes the plain build.
            subprocess.run([*pip, "torch==2.13.0"], check=True)
        subprocess.run([*pip, "--editable", f"{ROOT}[{extras}]"], check=True)
        for package in also:
            subprocess.run([*pip, "--no-deps", package], check=True)
        stamp.write_text(wanted)
    return python
