"""An installation is one package: it shadows nobody's `app` and `model`, and nobody's shadow it."""

import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import pytest
import requests

from tests.support import described, fake_service
from tests.support.live_server import FAKE
from tests.support.waiting import eventually
from tests.support.wheel import ROOT

pytestmark = pytest.mark.processes

STRANGERS = ("app", "model")
BUILD_EDITABLE = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"


def build_editable(folder: Path) -> Path:
    """What `pip install -e` installs of this checkout."""
    target = folder / "editable"
    target.mkdir()
    subprocess.run([sys.executable, "-c", BUILD_EDITABLE, str(target)], cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("*.whl"))


class Environment:
    """A fresh virtual environment with two strangers' packages, and a folder with their namesakes to start from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.bin = folder / "venv" / "bin"
        venv.create(folder / "venv", with_pip=False)
        (self.site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        self.folder.mkdir()
        for name in STRANGERS:
            (self.site / name).mkdir()
            (self.site / name / "__init__.py").write_text(f"OWNER = 'whoever made {name}'\n")
            (self.folder / f"{name}.py").write_text(f"raise SystemExit('the file {name}.py was imported')\n")
        (self.folder / "tests" / "support").mkdir(parents=True)
        for module in (fake_service, described):
            shutil.copy(module.__file__, self.folder / "tests" / "support")

    def install(self, wheel: Path) -> None:
        """Install the wheel alone; what it needs is taken from the environment that runs the tests."""
        words = ["pip", "--python", str(self.bin / "python"), "install", "--no-deps", "--no-index", str(wheel)]
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        # First of all by name: an editable install begins by importing what it needs.
        (self.site / "00-libraries.pth").write_text("\n".join(site.getsitepackages()))

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """What a program of the environment prints."""
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]], cwd=cwd or self.folder, env=clean(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def serving(self, *program: str) -> Iterator[str]:
        """The address of a server that one of its programs starts, with a model that the folder has."""
        options = ["--port", "0", "--data", str(self.folder / "data"), "--service", FAKE]
        environment = {**clean(), "PYTHONPATH": str(self.folder)}
        command = [str(self.bin / program[0]), *program[1:], *options]
        with subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


def clean() -> dict[str, str]:
    """The environment's variables without those that lead to other modules."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module", params=["wheel", "editable"])
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("installed")
    environment = Environment(folder)
    environment.install(request.getfixturevalue("wheel") if request.param == "wheel" else build_editable(folder))
    return environment


def test_it_adds_one_name_and_strangers_packages_stay_their_own(environment: Environment) -> None:
    found = {path.name for path in environment.site.iterdir()} - {*STRANGERS, "00-libraries.pth", "__pycache__"}
    own = f"kvscope-{metadata.version('kvscope')}.dist-info"
    assert found in ({"kvscope", own}, {"_editable_impl_kvscope.pth", "_editable_impl_kvscope.py", own})
    code = "import app, model, kvscope.app.commands.cli as own; print(app.OWNER, model.OWNER, own.__file__, sep=', ')"
    *owners, where = environment.run("python", "-c", code, cwd=environment.site).split(", ")
    assert owners == ["whoever made app", "whoever made model"]
    assert Path(where) in (environment.site / "kvscope/app/commands/cli.py", ROOT / "kvscope/app/commands/cli.py")
    assert (environment.site / "app" / "__init__.py").read_text() == "OWNER = 'whoever made app'\n"


def test_its_programs_work_in_a_folder_with_files_of_the_names_of_its_own(environment: Environment) -> None:
    assert environment.run("python", "-m", "kvscope", "models").startswith("SmolLM2-135M-Instruct")
    with environment.serving("kvscope") as url:
        assert requests.get(f"{url}healthz", timeout=10).json()["status"] == "ok"
        assert requests.get(f"{url}static/main.js", timeout=10).ok
        eventually(lambda: requests.get(f"{url}readyz", timeout=10).ok)


def test_it_reads_a_run_and_shows_it(environment: Environment) -> None:
    code = "import sys, kvscope; run = kvscope.open(sys.argv[1]); print(run.text, '<iframe' in run._repr_html_())"
    recording = ROOT / "kvscope" / "app" / "recordings" / "capital.safetensors"
    assert environment.run("python", "-c", code, str(recording)) == "The capital of France is Paris. True"
