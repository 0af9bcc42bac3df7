"""The settings of one server."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

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
BrowserEngine = Literal["off", "offer", "default"]
"""Whether visitors may run the model in their browsers: no; if they choose to; unless they choose the server."""
DEFAULT_VIEWERS, DEFAULT_VIEWERS_PER_ADDRESS = 900, 200


def default_data_dir() -> Path:
    """Returns `kvscope` in XDG_DATA_HOME, else in the system's data folder: ~/.local/share or ~/Library/Application
    Support. A folder that an earlier version created in ~/.local/share is used on every system.
    """
    if base := os.environ.get("XDG_DATA_HOME"):
        return Path(base) / "kvscope"
    earlier = Path("~/.local/share/kvscope").expanduser()
    return earlier if earlier.is_dir() else platformdirs.user_data_path("kvscope", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. `service`: the function that loads the model in the engine process, as `module:function`."""

    data_dir: Path = field(default_factory=default_data_dir)
    host: str = "127.0.0.1"
    port: int = 5000
    model: str | None = None
    """The default model; None for the model that ships."""
    more_models: tuple[str, ...] = ()
    """Further models, each loaded when it is first used."""
    model_memory_bytes: int = 0
    """Bytes that the engines of several models may take together; 0 for a share of the machine's memory."""
    device: str = "auto"
    dtype: WeightDtype = "float32"
    """Type in which the weights of linear layers and the embedding are stored: float32 or bfloat16."""
    compile: str = "auto"
    """Whether steps are compiled, which makes them faster: auto or off."""
    browser_engine: BrowserEngine = "offer"
    max_tokens: int = 0
    """The most tokens of a run, prompt and answer together; 0 for what context, cache and memory allow."""
    open_browser: bool = False
    service: str = DEFAULT_SERVICE
    database_url: str | None = field(default=None, repr=False)
    """Address of a PostgreSQL; None for an SQLite file in the data folder."""
    cluster: bool = False
    """Whether several web processes use the same database; one of them leads."""
    advertise: str | None = None
    """Address at which the other web processes reach this one; None for the address that it listens on."""
    keep_runs_days: int = DEFAULT_KEEP_RUNS_DAYS
    """A run that nobody shared is deleted this many days after it began; 0 for never."""
    max_disk_bytes: int = DEFAULT_MAX_DISK_BYTES
    """Bytes that the database may take; the oldest runs that nobody shared are deleted for this. 0 for no limit."""
    recordings_dir: Path = Path(__file__).resolve().parent / "recordings"
    more_lessons_dir: Path | None = None
    """A folder with additional lessons."""
    frame_ancestors: str = "*"
    """Pages that may embed a session, as in the Content-Security-Policy directive of that name; "*" for all."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that the server accepts, in addition to localhost and every IP address."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of the proxies whose X-Forwarded-For, -Host and -Proto are trusted."""
    token: str | None = field(default=None, repr=False)
    """The token needed to start, control, share or import a run; None if none is needed."""
    engines: int = 1
    """Engines for the default model; each further model has one."""
    ray: str | None = None
    """The Ray cluster that the engines run in, host:port or auto; None for processes on this machine."""
    engine_resources: tuple[tuple[str, float], ...] = (("num_cpus", DEFAULT_ENGINE_CPUS),)
    """Resources that each engine takes of a machine of the cluster."""
    max_open_runs: int = 16
    """The most open runs of one engine."""
    max_viewers: int = DEFAULT_VIEWERS
    """The most live connections (Socket.IO) at a time."""
    max_viewers_per_address: int = DEFAULT_VIEWERS_PER_ADDRESS
    max_waiting: int = 64
    """The most queued runs, in total and (next setting) of one client."""
    max_waiting_by_client: int = 4
    abandoned_after_s: float = 300.0
    """Seconds after which a paused study may be stopped to make room; a paused run may be evicted at once."""
    runs_per_minute: int = 60
    """Limit for one client, like the next four; 0 for no limit. Clients on the machine itself are not counted."""
    shares_per_minute: int = 20
    imports_per_minute: int = 10
    reads_per_minute: int = 600
    """Answers that are computed for one client: exact values, tokens, rows of the embedding."""
    bytes_per_minute: int = 400 * 10**6
    """Bytes that are stored for one client: of its runs, its shared sessions and its imports."""
    clients_per_address: int = 40
    """An address has the limits of this many clients together."""
    call_timeout_s: float = 60.0
    hung_after_s: float = DEFAULT_HUNG_AFTER_S
    """Seconds without a sign of life after which the engine is ended and restarted; 0 for never."""
    reload_after_s: float = 30.0
    """Seconds until a model that could not be loaded is loaded again."""
    max_value_bytes: int = 128 * 1024 * 1024
    """The most bytes of exact values that are stored with one session."""

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
