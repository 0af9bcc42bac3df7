"""What one server is told at its start."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import platformdirs

from kvscope.model.api import WeightDtype

DEFAULT_SERVICE = "kvscope.model.service:load_service"
DATABASE_URL_FORM = "postgresql://user:password@host/name"
DEFAULT_KEEP_RUNS_DAYS = 90
MAX_KEEP_RUNS_DAYS = 36_500
DEFAULT_HUNG_AFTER_S = 4
DEFAULT_MAX_DISK_BYTES = 10 * 10**9
DEFAULT_ENGINE_CPUS = 2.0
MAX_ENGINES = 64
DEFAULT_VIEWERS, DEFAULT_VIEWERS_PER_ADDRESS = 900, 200


def default_data_dir() -> Path:
    """`kvscope` in XDG_DATA_HOME, or where the system keeps data: ~/.local/share or ~/Library/Application Support.

    On a system that has it elsewhere, a folder that an earlier version left in ~/.local/share is used on.
    """
    if base := os.environ.get("XDG_DATA_HOME"):
        return Path(base) / "kvscope"
    earlier = Path("~/.local/share/kvscope").expanduser()
    return earlier if earlier.is_dir() else platformdirs.user_data_path("kvscope", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """`service` is the dotted name of what loads the model in the engine process:

    `module:function`, like kvscope.model.service.load_service.
    """

    data_dir: Path = field(default_factory=default_data_dir)
    host: str = "127.0.0.1"
    port: int = 5000
    model: str | None = None
    """The default; None is the one that ships."""
    more_models: tuple[str, ...] = ()
    """Further models, each loaded when it is first used."""
    model_memory_bytes: int = 0
    """So much the engines of several models may take together; 0 for a share of the machine's memory."""
    device: str = "auto"
    dtype: WeightDtype = "float32"
    """What the weights of linear layers and the embedding are kept as: float32 or bfloat16."""
    compile: str = "auto"
    """Whether steps are compiled, which makes them faster: auto or off."""
    open_browser: bool = False
    service: str = DEFAULT_SERVICE
    database_url: str | None = field(default=None, repr=False)
    """The PostgreSQL to store in; None for an SQLite file in the data folder."""
    cluster: bool = False
    """Whether other web processes use the same database, of which one leads."""
    advertise: str | None = None
    """Where those reach this one; None for what it listens on."""
    keep_runs_days: int = DEFAULT_KEEP_RUNS_DAYS
    """A run that nobody shared is forgotten so many days after it was begun; 0 for never."""
    max_disk_bytes: int = DEFAULT_MAX_DISK_BYTES
    """So much the database may take; the oldest runs that nobody shared are forgotten for it. 0 for any number."""
    recordings_dir: Path = Path(__file__).resolve().parent / "recordings"
    more_lessons_dir: Path | None = None
    """A folder of lessons beside those that ship."""
    frame_ancestors: str = "*"
    """Which pages may embed a session: what the Content-Security-Policy directive of that name takes, "*" for all."""
    allowed_hosts: tuple[str, ...] = ()
    """Names by which the server answers, beside localhost and every address."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of the proxies whose X-Forwarded-For, -Host and -Proto are believed."""
    token: str | None = field(default=None, repr=False)
    """What who starts, steers, shares or imports a run must have; None for nothing."""
    engines: int = 1
    """How many engines compute runs of the default model; each further model has one."""
    ray: str | None = None
    """The Ray cluster that the engines run in, host:port or auto; None for processes on this machine."""
    engine_resources: tuple[tuple[str, float], ...] = (("num_cpus", DEFAULT_ENGINE_CPUS),)
    """What each engine takes of a machine of the cluster."""
    max_open_runs: int = 16
    """Of one engine."""
    max_viewers: int = DEFAULT_VIEWERS
    """Live connections (Socket.IO) at a time."""
    max_viewers_per_address: int = DEFAULT_VIEWERS_PER_ADDRESS
    max_waiting: int = 64
    """Runs in line for a place among the open ones, and how many of them may be of one client."""
    max_waiting_by_client: int = 4
    abandoned_after_s: float = 300.0
    """A paused study may be stopped to make room after this long without a word; a paused run gives way at once."""
    runs_per_minute: int = 60
    """Of one client, as are the next four; 0 for any number. Nobody on the machine itself is counted."""
    shares_per_minute: int = 20
    imports_per_minute: int = 10
    reads_per_minute: int = 600
    """Answers that are computed for one client without a run: exact values, tokens, rows of the embedding."""
    bytes_per_minute: int = 400 * 10**6
    """Bytes that are stored for one client: of its runs, and of what it shares or brings back."""
    clients_per_address: int = 40
    """An address may do as much as so many clients."""
    call_timeout_s: float = 60.0
    hung_after_s: float = DEFAULT_HUNG_AFTER_S
    """After so many seconds without a sign of life the engine is ended and started again; 0 for never."""
    reload_after_s: float = 30.0
    """How long after a model could not be loaded it is tried again."""
    max_value_bytes: int = 128 * 1024 * 1024
    """Most bytes of exact values that are computed to be stored with one session."""

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
