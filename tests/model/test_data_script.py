"""A script of data sets what was written, whatever is in it."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest

from kvscope.model.data_script import bytes_script, data_script, stored_script
from tests.page_tools import node

PATH = "/api/a.js"


def set_by(script: bytes, folder: Path) -> object:
    path = folder / "script.cjs"
    path.write_bytes(b"globalThis.self = globalThis;" + script + b"console.log(JSON.stringify(kvscopeData));")
    done = subprocess.run([*node(), str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("value", [{"text": '"quoted" \u2028 </script> \\ é 🙂\n', "list": [1, None]}, "", 0])
def test_a_value_arrives_as_it_was(value: object, tmp_path: Path) -> None:
    assert set_by(data_script(PATH, value), tmp_path) == {PATH: value}


def test_bytes_arrive_in_base64(tmp_path: Path) -> None:
    content = bytes(range(256))
    set_to = set_by(bytes_script(PATH, content), tmp_path)
    assert isinstance(set_to, dict)
    assert b64decode(set_to[PATH]) == content


def test_stored_scripts_are_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path))
    assert stored_script("a.js") == tmp_path / "browser" / "a.js.gz"
