"""The examples for containers: what can be checked of them without containers."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml

from kvscope.app.commands.cli import main
from tests.support.nginx import nginx

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def kubernetes() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text("utf-8")))


def commands() -> list[list[str]]:
    """The arguments of every `kvscope` that the examples start."""
    services = compose()["services"].values()
    written = [service["command"] for service in services if service.get("command") and "image" in service]
    sets = [document for document in kubernetes() if document["kind"] == "StatefulSet"]
    containers = [container for each in sets for container in each["spec"]["template"]["spec"]["containers"]]
    (found,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    return [*written, *(container["args"] for container in containers), yaml.safe_load(found)]


@pytest.mark.parametrize("arguments", commands())
def test_every_command_is_one_that_the_program_takes(arguments: list[str]) -> None:
    said = [str(argument).replace("$(POD_IP)", "10.0.0.5") for argument in arguments]
    environment = {"DATABASE_URL": "postgresql://kvscope@database/kvscope", "KVSCOPE_TOKEN": "eight-letters"}
    with patch.dict(os.environ, environment):
        context = main.make_context("kvscope", said)
    assert context.params["cluster"] or "--cluster" not in said


def test_services_depend_on_and_reach_what_is_there() -> None:
    services = compose()["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert set(re.findall(r"server ([\w-]+):5000;", site)) == {name for name in services if name.startswith("web-")}
    assert {document["kind"] for document in kubernetes()} == {"RayCluster", "StatefulSet", "Service"}


def test_nginx_reads_its_file(tmp_path: Path) -> None:
    """Names of containers mean nothing here."""
    site = re.sub(r"web-\d:5000", "127.0.0.1:5000", (DEPLOY / "nginx.conf").read_text("utf-8"))
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{site}\n}}")
    done = subprocess.run([nginx(), "-t", "-c", str(whole)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
