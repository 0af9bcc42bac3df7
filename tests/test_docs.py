"""README, CONTRIBUTING and docs agree with the code: their paths, commands and options exist."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import requests

from kvscope.app.commands.cli import main
from kvscope.model.config import ModelConfig
from kvscope.model.families import COMPUTED, FAMILIES
from kvscope.model.native.implemented import not_computed
from kvscope.model.service.gguf_facts import gguf_facts
from tests.support.tiny import tiny_config

ROOT = Path(__file__).resolve().parent.parent
README, CONTRIBUTING, OPTIONS = (
    (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "docs/options.md")
)
SIZES = {"layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "d": 32, "d_mlp": 48, "vocab": 259, "context": 512}
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)\n```", README, re.DOTALL)
SHELL_BLOCKS = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)


def section(title: str) -> str:
    """The README from one heading to the next."""
    return README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_first_screen_has_two_commands_of_one_line_each() -> None:
    first_screen = README.split("\n## ", 1)[0]
    assert len(re.findall(r"```sh\n[^\n]+\n```", first_screen)) == first_screen.count("```") // 2 == 2


def test_ci_runs_the_test_command_as_the_readme_has_it() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-1] == SHELL_BLOCKS[1]


def test_every_path_in_the_layout_exists() -> None:
    layout = next(block for block in CONTRIBUTING.split("```") if block.startswith("\nkvscope/"))
    lines = [line for line in layout.splitlines() if line]
    listed = [f"{'kvscope/' if line.startswith('  ') else ''}{line.split()[0]}" for line in lines]
    assert len(listed) > 5
    for path in listed:
        assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file(), path


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda path: path.name)
def test_every_relative_link_leads_to_a_file(path: Path) -> None:
    for target in re.findall(r"\]\((?!\w+:|/)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_every_command_of_the_checkout_exists() -> None:
    named = set(re.findall(r"python -m ((?:tests|tools)[a-z_.]*)", README + CONTRIBUTING))
    assert {"tests", "tools.bench", "tools.bench.as_served"} <= named
    for module in named:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_option_table_is_the_command_line() -> None:
    rows = re.findall(r"^\| `(--[a-z-]+)` \| ([^|]*)\|", OPTIONS, re.MULTILINE)
    shown = [option for option in main.params if isinstance(option, click.Option) and not option.hidden]
    options = {option.opts[0]: option.default for option in shown}
    assert {name for name, _ in rows} == set(options)
    for name, stated in rows:
        if isinstance(options[name], str | int) and not isinstance(options[name], bool):
            assert stated.strip() == str(options[name]), name


def test_the_operators_table_has_the_defaults_of_the_command_line() -> None:
    operating = (ROOT / "docs" / "operating.md").read_text()
    rows = re.findall(r"^\| `(--[a-z-]+)`[^|]* \| ([^|]*?) \|", operating.split("## Settings", 1)[1], re.MULTILINE)
    options = {option.opts[0]: option.default for option in main.params}
    assert len(rows) > 5
    for name, stated in rows:
        default = options[name]
        assert stated == (str(default) if isinstance(default, str | int) else "none"), name


def test_the_command_table_names_every_command() -> None:
    named = set(re.findall(r"^\| `kvscope ([a-z]+)", section("Command line"), re.MULTILINE))
    assert named == set(main.commands)


MODELS_MD = (ROOT / "docs" / "models.md").read_text()


def table_of(title: str) -> list[list[str]]:
    """The cells of the rows of a table in docs/models.md, without its head."""
    part = MODELS_MD.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_the_table_of_models_is_what_the_code_loads_and_computes() -> None:
    def yes(value: bool) -> str:
        return "yes" if value else "no"

    architectures = gguf_facts(0)["architectures"]
    stated = {row[0].strip("`"): [row[2], *row[3:]] for row in table_of("Families")}
    assert set(stated) == set(COMPUTED)
    for family, cells in stated.items():
        # Mistral's GGUF files say that they are Llama's.
        gguf = FAMILIES["llama" if family == "mistral" else family]["computed"].get("gguf")
        config = tiny_config(family) if family != "phi3" else ModelConfig("phi3", **SIZES)
        native = not not_computed(config)
        expected = [yes(family in COMPUTED), f"`{gguf}`" if gguf else "no", yes(native)]
        expected += [yes(not config.experts), yes(native), yes(gguf in architectures)]
        assert cells == expected, family


def test_the_table_of_refusals_is_that_of_the_families() -> None:
    stated: dict[str, dict[str, str]] = {}
    for families, fields in table_of("What is refused"):
        for family in re.findall(r"`(\w+)`", families):
            stated[family] = dict(re.findall(r"`(\w+)` = `(\w+)`", fields))
    words = {True: "true", False: "false", None: "null"}
    for family in COMPUTED:
        only = FAMILIES[family]["computed"]["only"]
        assert stated[family] == {name: words.get(value, value) for name, value in only.items()}, family


def test_every_test_that_compares_models_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", MODELS_MD)
    assert len(named) > 5
    for path in named:
        assert (ROOT / path).is_file(), path


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    """A server with the default model, ready for runs."""
    command = [sys.executable, "-m", "kvscope", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip().rstrip("/")
            while not requests.get(f"{url}/readyz", timeout=10).ok:
                assert server.poll() is None
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()


def run_example(code: str, folder: Path) -> str:
    """What an example prints. It sees the installed libraries only, as a reader's own file would, and this checkout."""
    code = f"import sys; sys.path.append({str(ROOT)!r})\n{code}"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.real
def test_the_socket_example_prints_each_step_of_a_run(server_url: str, tmp_path: Path) -> None:
    code = PYTHON_BLOCKS[2]
    assert "http://127.0.0.1:5000" in code
    lines = run_example(code.replace("http://127.0.0.1:5000", server_url), tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["prefill"] + ["decode"] * 7
    assert "Paris" in " ".join(lines)


@pytest.mark.real
def test_the_session_example_reads_what_kvscope_run_saves(tmp_path: Path) -> None:
    command = re.search(r"`kvscope (run [^`]+)`:\n\n```python", README)
    python_path = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "kvscope", *shlex.split(command[1])]
    subprocess.run(words, cwd=tmp_path, env=python_path, check=True, capture_output=True)
    first, *steps = run_example(PYTHON_BLOCKS[1], tmp_path).splitlines()
    assert first.startswith("'The sky is' → ' ")
    assert [line.split()[0] for line in steps] == ["prefill"] + ["decode"] * 31
    assert all(re.search(r" \d+\.\d ms, head 13·8 looks at '.+'$", line) for line in steps)


@pytest.mark.real
def test_the_examples_of_a_notebook_run_in_order(tmp_path: Path) -> None:
    readme, notebook = PYTHON_BLOCKS[0], (ROOT / "docs" / "notebook.md").read_text()
    blocks = re.findall(r"```python\n(.*?)\n```", notebook, re.DOTALL)
    assert "import kvscope" in readme
    assert len(blocks) > 3
    assert " Paris" in run_example("\n".join([readme.replace(".show()", ""), *blocks]), tmp_path)
    assert (tmp_path / "paris.safetensors").is_file()


NAMED = re.compile(
    r"(?<![\w./-])((?:kvscope/)?(?:app|docs|lessons|model|static|templates|tests)/[\w./-]+\.(?:py|js|css|md|html))\b"
)


def test_every_file_that_is_named_is_there() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    read = [name for name in files if name.endswith((".py", ".js", ".md")) and name != "CHANGELOG.md"]
    gone = {
        (name, named)
        for name in read
        for named in NAMED.findall((ROOT / name).read_text("utf-8"))
        if named not in files and f"kvscope/{named}" not in files and "static/vendor/" not in named
    }
    assert gone == set()
