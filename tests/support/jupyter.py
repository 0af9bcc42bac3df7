"""A Jupyter server with jupyter-server-proxy, as JupyterHub starts one for somebody."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.support.nginx import free_port
from tests.support.waiting import eventually

BASE = "/user/ada/"
TOKEN = "not-a-secret-of-anybody"


@dataclass(frozen=True)
class Jupyter:
    """`root` is where its own pages are."""

    root: str

    def proxied(self, port: int) -> str:
        """Where a server on this machine is seen by who is logged in."""
        return f"{self.root}proxy/{port}/"

    @property
    def headers(self) -> dict[str, str]:
        """What a program sends that has the token."""
        return {"Authorization": f"token {TOKEN}"}

    @property
    def login(self) -> str:
        """Who opens it is logged in from then on."""
        return f"{self.root}api/status?token={TOKEN}"


@contextmanager
def jupyter(folder: Path) -> Iterator[Jupyter]:
    """It runs until the end, and keeps all it has in the folder."""
    port = free_port()
    words = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    words += ["--ServerApp.allow_remote_access=True"]  # by the hub's name
    words += [f"--ServerApp.base_url={BASE}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    places = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "jupyter_server", *words]
        environment = {**os.environ, **places, "JUPYTER_PREFER_ENV_PATH": "1"}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    found = Jupyter(f"http://127.0.0.1:{port}{BASE}")

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text("utf-8")
        try:
            return requests.get(found.login, timeout=10).ok
        except requests.ConnectionError:
            return False

    try:
        eventually(answers, 60)
        yield found
    finally:
        process.terminate()
        process.wait(30)
