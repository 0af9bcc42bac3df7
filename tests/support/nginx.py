"""An nginx before a server, with the blocks of docs/operating.md as they are printed there."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
NAME = "kv.school.example"
BLOCKS = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "operating.md").read_text("utf-8"), re.DOTALL)
LOCATION = re.compile(r"^ *location /.*?^ *}\n", re.DOTALL | re.MULTILINE)
AT_THE_ROOT = BLOCKS[0]
BELOW_A_PATH = LOCATION.sub(lambda _: BLOCKS[1], AT_THE_ROOT)
"""The second block is a location that stands in the place of the first one's."""
AROUND = """
{user}
daemon off;
pid {folder}/pid;
error_log stderr;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    include /etc/nginx/mime.types;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {block}
}}
"""


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def nginx() -> str:
    """Path of the system's nginx. Without one the test is skipped, or failed where CI=true."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no nginx on PATH")
    return found


@contextmanager
def nginx_before(server_port: int, block: str, folder: Path) -> Iterator[str]:
    """The address of its root while it runs."""
    program, port = nginx(), free_port()
    told = block.replace("listen 80", f"listen 127.0.0.1:{port}").replace("127.0.0.1:5000", f"127.0.0.1:{server_port}")
    assert str(server_port) in told
    # Started by root it would go on as somebody who may not read this folder.
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND.format(user=user, folder=folder, block=told), "utf-8")
    with (folder / "log").open("w") as log:
        proxy = subprocess.Popen([program, "-p", str(folder), "-c", "nginx.conf"], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}/"
    try:
        eventually(lambda: proxy.poll() is None and listens(port))
        yield url
    finally:
        proxy.terminate()
        proxy.wait(30)
    assert "[emerg]" not in (folder / "log").read_text("utf-8")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str) -> bool:
    """Whether the page comes by the name that the blocks have."""
    try:
        return requests.get(url, headers={"Host": NAME}, timeout=10).ok
    except requests.ConnectionError:
        return False
