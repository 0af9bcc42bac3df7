"""Native code is compiled once, loaded whole or not at all, and where there is none a line says why."""

from __future__ import annotations

import _ctypes
import errno
import importlib.util
import os
import platform
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kvscope.model import native as native_code
from kvscope.model import prebuilt
from kvscope.model.compiler import COMPILERS, ZIG, Unavailable, c_compiler
from kvscope.model.held import keeps_groups
from kvscope.model.native import Native, library
from kvscope.model.native.library import load
from kvscope.model.packaged import cache_folder
from kvscope.model.work_folder import PREFIX
from tests.support.waiting import eventually

READS_ITS_ARGUMENTS = """#!/bin/sh
case "$*" in *--version*) echo "cc 1.0"; exit;; esac
echo "$@" >> "{folder}/calls"
all="$*"
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
"""
GIVES = 'cp "{given}" "$out"\n'
GIVES_WHEN_BOTH_ASK = """name=$(basename "$out")
touch "{folder}/asks.$name.$$"
until [ $(ls "{folder}" | grep -c "^asks.$name") = 2 ]; do sleep 0.02; done
cp "{given}" "$out"
"""
STOPS_HALFWAY = """echo half > "$out"
echo $$ > "{folder}/halfway"
sleep 60
"""
HANGS = """sleep 60 &
echo $! > "{folder}/child"
wait
"""
FAILS = """echo "In file included from kernels.c:10:" >&2
echo "kernels.c:12:3: error: unknown type name 'floats'" >&2
exit 1
"""

NO_COMPILER = f"there is no C compiler ({', '.join(COMPILERS)}): install one, or `pip install ziglang`"

Put = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "native"


@pytest.fixture
def given(native: Native) -> Path:
    """A library that a compiler has made of the sources."""
    (newest, *_) = sorted((cache_folder() / "native").glob("kernels-*-*.so"), key=lambda path: -path.stat().st_mtime)
    return newest


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Path) -> Put:
    """Puts a shell script in the compiler's place, which has what it is to make as `$out`."""

    def put(script: str, give: Path = given) -> None:
        path = tmp_path / "cc"
        path.write_text((READS_ITS_ARGUMENTS + script).format(folder=tmp_path, given=give))
        path.chmod(0o700)
        monkeypatch.setenv("CC", str(path))

    return put


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the path nor in a package."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], int]:
    """How often something was compiled."""
    return lambda: len((tmp_path / "calls").read_text().splitlines())


def libraries(folder: Path) -> list[Path]:
    """All that is in the folder is a library."""
    found = sorted(folder.iterdir())
    assert [path.suffix for path in found] == [".so"] * len(found)
    return found


def why_not(folder: Path) -> str:
    """Why there is no native code, in one line."""
    with pytest.raises(Unavailable) as unavailable:
        load(folder)
    assert "\n" not in str(unavailable.value)
    return str(unavailable.value)


class TestCompiling:
    def test_it_is_done_once(self, folder: Path, compiler: Put, calls: Callable[[], int]) -> None:
        compiler(GIVES)
        for _ in range(3):
            assert load(folder).product
        assert calls() == 1
        assert len(libraries(folder)) == 1

    def test_the_folder_is_the_users_alone(self, folder: Path, compiler: Put) -> None:
        compiler(GIVES)
        load(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_what_a_real_compiler_makes_is_what_a_start_compares(self, folder: Path, native: Native) -> None:
        Native.from_folder(folder)
        assert len(libraries(folder)) == 1

    @pytest.mark.parametrize("change", ["source", "command", "version"])
    def test_what_another_source_or_compiler_gives_lies_beside_the_first(
        self,
        change: str,
        tmp_path: Path,
        folder: Path,
        compiler: Put,
        calls: Callable[[], int],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        compiler(GIVES)
        load(folder)
        script, newer = tmp_path / "cc", tmp_path / "kernels.c"
        first = script.read_text()
        with monkeypatch.context() as patch:
            if change == "source":
                newer.write_text(f"{library.SOURCE.read_text('utf-8')}/* changed */\n")
                patch.setattr(library, "SOURCE", newer)
            elif change == "command":
                patch.setenv("CC", f"{script} -O1")
            else:
                script.write_text(first.replace("cc 1.0", "cc 2.0"))
            load(folder)
        assert calls() == 2
        script.write_text(first)
        load(folder)
        assert len(libraries(folder)) == 2
        assert calls() == 2

    def test_two_engines_may_compile_at_once(self, folder: Path, compiler: Put, calls: Callable[[], int]) -> None:
        compiler(GIVES_WHEN_BOTH_ASK)
        with ThreadPoolExecutor(2) as both:
            for loaded in [both.submit(load, folder) for _ in range(2)]:
                assert loaded.result().product
        assert calls() == 2
        assert len(libraries(folder)) == 1

    @pytest.mark.processes
    def test_an_engine_that_is_killed_meanwhile_is_no_hindrance_to_the_next(
        self, tmp_path: Path, folder: Path, compiler: Put
    ) -> None:
        compiler(STOPS_HALFWAY)
        script = "import sys; from pathlib import Path; from kvscope.model.native import library; "
        script += "library.load(Path(sys.argv[1]))"
        with subprocess.Popen([sys.executable, "-c", script, str(folder)]) as engine:
            halfway = tmp_path / "halfway"
            eventually(lambda: halfway.exists() and halfway.read_text().strip(), 60)
            engine.kill()
        os.killpg(int(halfway.read_text()), signal.SIGKILL)
        compiler(GIVES)
        assert load(folder).product
        assert [path.name for path in folder.iterdir() if path.suffix != ".so"] == []


COMMANDS = {
    "gcc": "gcc",
    "clang": "clang",
    "zig": shlex.join(ZIG) if importlib.util.find_spec("ziglang") else "",
}
"""Compilers that give what is loaded."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_each_compiler_makes_computes_as_torch_does(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]
    if not command or shutil.which(command.split()[0]) is None:
        pytest.skip(f"there is no {name}")
    monkeypatch.setenv("CC", command)
    assert Native.from_folder(folder).not_compiled == ""


def test_no_openmp_library_is_needed(given: Path) -> None:
    """Two in one process would each start threads, and torch brings one."""
    assert not re.search(rb"lib[gi]?omp\d?\.|kmpc_|GOMP_", given.read_bytes())


class TestDamage:
    @pytest.mark.parametrize("damage", ["empty", "text", "cut short", "a bit", "no functions"])
    def test_a_damaged_library_is_compiled_again(
        self, damage: str, folder: Path, compiler: Put, calls: Callable[[], int]
    ) -> None:
        """Half a library ends the process that loads it."""
        compiler(GIVES)
        load(folder)
        (path,) = libraries(folder)
        whole = path.read_bytes()
        middle = len(whole) // 2
        damaged = {
            "empty": b"",
            "text": b"no library",
            "cut short": whole[:middle],
            "a bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "no functions": Path(_ctypes.__file__).read_bytes(),
        }
        path.unlink()  # the process has it loaded
        path.write_bytes(damaged[damage])
        assert load(folder).product
        assert calls() == 2
        assert path.read_bytes() == whole

    def test_a_library_under_its_right_name_that_cannot_be_loaded_is_compiled_again(
        self, folder: Path, compiler: Put, calls: Callable[[], int], given: Path
    ) -> None:
        compiler(GIVES)
        load(folder)
        (path,) = libraries(folder)
        name = path.name.rpartition("-")[0]
        path.unlink()
        wrong = folder / "wrong"
        wrong.write_bytes(b"no library")
        wrong.rename(folder / library._named(name, wrong))
        assert load(folder).product
        assert calls() == 2


class TestOtherUsers:
    """What another user could have changed is not loaded."""

    @pytest.fixture(autouse=True)
    def _once_compiled(self, folder: Path, compiler: Put) -> None:
        compiler(GIVES)
        load(folder)

    def test_a_file_that_others_may_write_is_compiled_again(self, folder: Path, calls: Callable[[], int]) -> None:
        for expected, mode in enumerate((0o720, 0o702), 2):
            libraries(folder)[0].chmod(mode)
            assert load(folder).product
            assert calls() == expected
            (path,) = libraries(folder)
            assert stat.S_IMODE(path.stat().st_mode) == 0o700

    def test_a_file_of_another_user_is_compiled_again(
        self, folder: Path, calls: Callable[[], int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.getuid():
            pytest.skip("only root can give a file away")
        os.chown(libraries(folder)[0], 12345, -1)
        assert load(folder).product
        assert calls() == 2

    @pytest.mark.parametrize(("above", "mode"), [(0, 0o770), (0, 0o707), (0, 0o1777), (1, 0o777)])
    def test_in_a_folder_that_others_may_write_nothing_is_loaded_or_stored(
        self, above: int, mode: int, folder: Path, calls: Callable[[], int], caplog: pytest.LogCaptureFixture
    ) -> None:
        changeable = (folder, *folder.parents)[above]
        before = changeable.stat().st_mode
        changeable.chmod(mode)
        for expected in (2, 3):
            assert load(folder).product
            assert calls() == expected
        why = f"{changeable} can be changed by other users"
        assert caplog.messages == [f"{why}: native code is compiled at each start and not stored in {folder}"] * 2
        changeable.chmod(before)
        assert load(folder).product
        assert calls() == 3

    def test_a_folder_of_another_user_is_not_used(self, folder: Path, calls: Callable[[], int]) -> None:
        if os.getuid():
            pytest.skip("only root can give a folder away")
        os.chown(folder, 12345, -1)
        assert load(folder).product
        assert calls() == 2

    def test_no_umask_makes_a_library_that_is_not_used_again(self, tmp_path: Path, calls: Callable[[], int]) -> None:
        before = os.umask(0)
        try:
            for _ in range(2):
                load(tmp_path / "other" / "native")
        finally:
            os.umask(before)
        (tmp_path / "other").chmod(0o755)
        load(tmp_path / "other" / "native")
        assert calls() == 4  # `other` was open to all, twice


class TestPrebuilt:
    """What a wheel brings takes the place of what cannot be compiled."""

    @pytest.fixture
    def install(self, tmp_path: Path, given: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Puts a library in the installation, for processors with these features."""

        def put(needs: str = "", give: Path = given) -> None:
            kind = prebuilt.Prebuilt(platform.system(), platform.machine(), "", "any", frozenset(needs.split()))
            monkeypatch.setattr(prebuilt, "PREBUILT", (kind,))
            monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
            shutil.copy(give, tmp_path / kind.file)

        return put

    def test_without_a_compiler_it_is_loaded(
        self, folder: Path, install: Callable[..., None], no_compiler: None
    ) -> None:
        install()
        assert keeps_groups("cpu", "float32", True)
        assert Native.from_folder(folder).not_compiled == NO_COMPILER

    @pytest.mark.parametrize("script", [FAILS, "exit 3\n", 'echo half > "$out"\n'])
    def test_where_the_compiler_fails_it_is_loaded(
        self, script: str, folder: Path, install: Callable[..., None], compiler: Put
    ) -> None:
        install()
        compiler(script)
        assert Native.from_folder(folder).not_compiled

    def test_where_what_is_compiled_computes_something_else_it_is_loaded(
        self, folder: Path, install: Callable[..., None], compiler: Put, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install()
        compiler(GIVES)
        compare, compared = native_code.compare_products, []

        def differs_first(products: Any) -> None:
            compared.append(products)
            if len(compared) == 1:
                raise Unavailable("its products are not torch's")
            compare(products)

        monkeypatch.setattr(native_code, "compare_products", differs_first)
        assert Native.from_folder(folder).not_compiled == "its products are not torch's"

    def test_with_a_compiler_it_is_not_used(self, folder: Path, install: Callable[..., None], compiler: Put) -> None:
        install()
        compiler(GIVES)
        assert Native.from_folder(folder).not_compiled == ""

    def test_one_that_cannot_be_loaded_is_named(
        self, folder: Path, tmp_path: Path, install: Callable[..., None], no_compiler: None
    ) -> None:
        (tmp_path / "wrong").write_bytes(b"no library")
        install(give=tmp_path / "wrong")
        with pytest.raises(Unavailable, match=r"^the installation's native code cannot be used: .*(too short|invalid)"):
            Native.from_folder(folder)

    def test_a_processor_without_what_it_needs_gets_none(
        self, folder: Path, install: Callable[..., None], no_compiler: None
    ) -> None:
        install("a_feature_of_no_processor")
        for needed in (lambda: keeps_groups("cpu", "float32", True), lambda: Native.from_folder(folder)):
            with pytest.raises(Unavailable) as unavailable:
                needed()
            assert str(unavailable.value) == NO_COMPILER

    @pytest.mark.parametrize(
        ("lacks", "cpu"), [("", "x86_64_v4"), ("avx512vl", "x86_64_v3"), ("avx512f avx2", None), ("fma", None)]
    )
    def test_the_fastest_that_the_processor_can_run_is_chosen(
        self, lacks: str, cpu: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(prebuilt.platform, "system", lambda: "Linux")
        monkeypatch.setattr(prebuilt.platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
        monkeypatch.setattr(prebuilt, "CPUINFO", tmp_path / "cpuinfo")
        features = " ".join(prebuilt.AVX512 - set(lacks.split()))
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {features} sse2\nbugs\t\t:\n")
        for kind in prebuilt.PREBUILT:
            (tmp_path / kind.file).touch()
        chosen = prebuilt.prebuilt_library()
        assert (chosen and chosen.name) == (cpu and f"linux-x86_64-{cpu}.so")

    def test_a_checkout_has_none(self) -> None:
        assert prebuilt.prebuilt_library() is None


class TestUnavailable:
    def test_without_a_compiler(self, folder: Path, no_compiler: None) -> None:
        assert why_not(folder) == NO_COMPILER
        assert not folder.exists()

    def test_zigs_compiler_is_used_where_path_has_none(
        self, no_compiler: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ziglang")
        assert c_compiler() == ZIG

    @pytest.mark.parametrize(("flags", "chosen"), [("fpu avx2 avx512f", "gcc"), ("fpu avx2", "clang")])
    def test_the_compiler_of_the_fastest_code_comes_first(
        self, flags: str, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
        monkeypatch.setattr("kvscope.model.compiler.CPUINFO", tmp_path / "cpuinfo")
        monkeypatch.setattr("shutil.which", lambda name: name)
        monkeypatch.delenv("CC", raising=False)
        assert c_compiler() == [chosen]

    def test_without_the_one_that_is_asked_for(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", "no-such-compiler -m64")
        assert why_not(folder) == "there is no C compiler (no-such-compiler -m64): correct or unset CC"

    def test_where_cc_is_no_command(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", "cc 'unclosed")
        assert "which is no command" in why_not(folder)

    def test_where_it_cannot_be_run(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "cc"
        path.write_bytes(b"\x00\x01")
        path.chmod(0o700)
        monkeypatch.setenv("CC", str(path))
        assert why_not(folder) == f"{path} cannot be run: Exec format error"

    def test_where_it_fails_the_line_that_names_the_error_is_given(self, folder: Path, compiler: Put) -> None:
        compiler(FAILS)
        assert why_not(folder).endswith("cc failed: kernels.c:12:3: error: unknown type name 'floats'")
        assert libraries(folder) == []

    def test_where_it_fails_without_a_word_its_status_is_given(self, folder: Path, compiler: Put) -> None:
        compiler("exit 3\n")
        assert why_not(folder).endswith("cc failed: status 3")

    def test_where_it_takes_too_long_it_ends_with_all_its_processes(
        self, folder: Path, tmp_path: Path, compiler: Put, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(library, "LIMIT_S", 0.5)
        compiler(HANGS)
        assert why_not(folder).endswith("cc took more than 0 s")
        child = int((tmp_path / "child").read_text())
        eventually(lambda: ended(child))
        assert libraries(folder) == []

    @pytest.mark.parametrize(
        ("made", "why"), [(b"no library", "file too short|invalid ELF header"), (None, "it has no function product")]
    )
    def test_where_it_makes_something_else(
        self, made: bytes | None, why: str, folder: Path, tmp_path: Path, compiler: Put
    ) -> None:
        other = tmp_path / "other"
        other.write_bytes(Path(_ctypes.__file__).read_bytes() if made is None else made)
        compiler(GIVES, other)
        with pytest.raises(Unavailable, match=f"cc gave no library that can be used: .*({why})"):
            load(folder)
        assert libraries(folder) == []

    def test_where_the_folder_cannot_be_made(self, tmp_path: Path, compiler: Put) -> None:
        compiler(GIVES)
        (tmp_path / "file").write_text("in the way")
        assert why_not(tmp_path / "file" / "native") == f"{tmp_path}/file/native cannot be used: Not a directory"

    def test_where_the_folder_is_read_only(self, folder: Path, compiler: Put, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also for root, whom no mode keeps from writing."""
        compiler(GIVES)

        def refuse(*arguments: Any, **options: Any) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        with monkeypatch.context() as patch:
            patch.setattr(library, "work_folder", refuse)
            assert why_not(folder) == f"{folder} cannot be used: Read-only file system"
        load(folder)
        (folder / f"{PREFIX}old").mkdir()
        monkeypatch.setattr(library, "work_folder", refuse)
        monkeypatch.setattr(os, "rmdir", refuse)
        monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
        assert load(folder).product  # what is there already is used


def ended(pid: int) -> bool:
    """Whether a process is there no more, but for its status, which nobody may ask for."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True
