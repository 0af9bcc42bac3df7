"""What the HTTP contract answers in JSON. The published document (openapi.py) is made of it; members may be added."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from kvscope.app.travel.words import NoteText, Title, View
from kvscope.model.api import ValueLevel
from kvscope.model.log.schema import Conditions, Limits, Model, Reason
from kvscope.model.settings import Sampling

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
SessionId = Annotated[str, Field(pattern="^[a-z2-7]{12,52}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Status = Literal["queued", "running", "paused", "closed"]


class Problem(TypedDict):
    """RFC 9457. `field` is what the problem is about, `limit` the bound that was broken."""

    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    field: NotRequired[str]
    limit: NotRequired[Any]


class Token(TypedDict):
    id: Count
    text: str
    bytes: NotRequired[str]
    special: NotRequired[bool]


class Parent(TypedDict):
    """Where a branch left another run."""

    run: str
    position: Count
    token: NotRequired[Any]


class Study(TypedDict):
    """What a run was made to learn about; a workload is of no run."""

    kind: Literal["twin", "beam", "serving"]
    of: NotRequired[str]


class Created(TypedDict):
    id: str
    url: str
    delete_token: str


class Queued(Created):
    """`place` is 1 for the next one; `estimate_s`: in about how many seconds it begins, null while that is unknown."""

    status: Literal["queued"]
    place: Positive
    estimate_s: Count | None


class Waits(TypedDict):
    """A queued run, which has no log yet."""

    id: str
    url: str
    status: Literal["queued"]
    place: Positive
    estimate_s: Count | None


class Changed(TypedDict):
    """`changes` as in the `open` frame of a changed run."""

    of: str
    changes: list[dict[str, Any]]


class RunStatus(TypedDict):
    id: str
    url: str
    status: Status
    reason: Reason | None
    error: str | None
    last_seq: Count
    steps: Count
    bytes: Count
    prompt_tokens: Count
    study: Study | None
    changed: Changed | None
    model: Model
    prompt: str
    chat: bool
    sampling: Sampling
    limits: Limits
    parent: Parent | None
    created: Time


class Joined(TypedDict):
    id: str
    request: int
    """Its number among the workload's requests."""


class Controlled(TypedDict):
    id: str
    status: Status


class Member(TypedDict):
    id: str
    parent: Parent | None
    study: Study | None
    changed: Changed | None
    status: Status
    reason: Reason | None
    steps: Count
    created: Time


class Family(TypedDict):
    root: str
    runs: list[Member]


class Candidates(TypedDict):
    candidates: list[Token]


class Predicted(TypedDict):
    """Next-token distribution: ln of the probability of the step's token, the distance from the step as it was in nats,
    the likeliest token."""

    logprob: float
    kl: float
    best: Token


class Effects(TypedDict):
    """`count`: parts in all; `effects`: of those from `first` on. `ms`: what the passes took."""

    count: Count
    base: Predicted
    effects: list[Predicted]
    ms: float


class Chosen(TypedDict):
    prob: float
    rank: Count


class LineTensor(TypedDict):
    """`of`: a variable, or a hook point by its name relative to its block; empty of what is returned."""

    of: str
    hook: bool
    shape: list[Count]
    dtype: str
    bytes: Count


class Code(TypedDict):
    """`lines`: by file and line, its tensors; `ran`: the lines that ran; `rows`: of the last of `passes`."""

    lines: dict[str, dict[str, list[LineTensor]]]
    ran: dict[str, list[Count]]
    rows: Positive
    passes: Positive


class Call(TypedDict):
    """A function, where it begins, how often it was called from there, and what it called."""

    name: str
    path: str
    line: Positive
    count: Positive
    calls: list[Call]


class Calls(TypedDict):
    """`decode` is null where the first token ended the text."""

    prefill: Call
    decode: Call | None


class SourceFunction(TypedDict):
    name: str
    first: Positive
    last: Positive


class SourceTensor(TypedDict):
    """A shape in letters: docs/frames.md, On demand."""

    of: str
    hook: bool
    axes: list[str]


class SourceShapes(TypedDict):
    """Of a statement: its first line, the properties of a model with which it runs, its tensors."""

    line: Positive
    when: dict[str, bool]
    tensors: list[SourceTensor]


class SourceFile(TypedDict):
    """`lines`: each a list of parts: its text, its kind, the tensors it stands for."""

    path: str
    lines: list[list[list[Any]]]
    functions: list[SourceFunction]
    shapes: list[SourceShapes]


class Source(TypedDict):
    """`version`: of the files."""

    version: str
    files: list[SourceFile]


class LensLayer(TypedDict):
    layer: Count
    top: list[Token]
    chosen: Chosen


class Lens(TypedDict):
    token: Token
    layers: list[LensLayer]


class Came(TypedDict):
    """The token that really came next: how likely it was, how many tokens were likelier, −ln of its probability."""

    prob: float
    rank: Count
    loss: float


class StepTiming(TypedDict):
    """`ms`: of the forward passes; `weights_read`: bytes by format."""

    ms: Annotated[float, Field(ge=0)]
    rows: Positive
    weights_read: dict[str, int]
    conditions: Conditions


class Prediction(TypedDict):
    """What one position says of the next token; `came` is null of the last one."""

    best: Token
    came: Came | None


class KeptBytes(TypedDict):
    """Of all positions' logits, of the last one's, of the K and V of all."""

    logits: Positive
    last_logits: Positive
    kv: Positive


class Losses(TypedDict):
    """`loss`: the mean of all, null of a prompt of one token; `perplexity`: e to it."""

    positions: list[Prediction]
    loss: float | None
    perplexity: float | None
    bytes: KeptBytes


class Cut(TypedDict):
    """A prompt's tokens, at most `limit` of them; `count`: how many there are."""

    tokens: list[Token]
    count: Count
    limit: Positive


class Plane(TypedDict):
    """Two coordinates of the token and then of each of the nearest; `kept`: the share of their variance."""

    points: list[list[float]]
    kept: Annotated[float, Field(ge=0)]


class Embedding(TypedDict):
    """`nearest` are those with the largest `cosine` among the `vocab` rows; `tied`: the LM head is the same table."""

    token: Token
    row: list[float]
    length: float
    nearest: list[Token]
    plane: Plane
    vocab: Positive
    tied: bool


class Word(TypedDict):
    """`length`: of its row, or of the mean of its tokens' rows."""

    word: str
    tokens: list[Token]
    length: float


class WordsBeside(TypedDict):
    """`cosines`: of each word with each, null where one has the length 0; `plane`: of their rows of `width` numbers."""

    words: list[Word]
    cosines: list[list[float | None]]
    plane: Plane
    width: Positive


class ShareChoice(TypedDict):
    bytes: Count
    estimated: bool
    refusal: str | None


class ShareChoices(TypedDict):
    levels: ShareLevels
    computing: Computing | None


class ShareLevels(TypedDict):
    attention: ShareChoice
    qkv: ShareChoice
    block: ShareChoice


class Computing(TypedDict):
    done: Count
    steps: Positive


class Shared(TypedDict):
    id: SessionId
    url: str
    embed: str
    delete_token: str


class NotePlace(TypedDict):
    step: Count | None
    layer: Count | None
    head: Count | None
    text: NoteText


class Opens(TypedDict):
    step: Count | None
    layer: Count | None
    head: Count | None
    query: Count | None
    key: Count | None
    view: View | None


class Part(TypedDict):
    seq: Count
    kind: str
    bytes: Positive
    sha256: Sha256


class ValuesPart(TypedDict):
    step: Count
    layer: Count
    bytes: Positive
    sha256: Sha256


class StoredValues(TypedDict):
    level: ValueLevel
    bytes: Positive
    parts: list[ValuesPart]


class Asked(TypedDict):
    """What a session that is a workload has of these."""

    requests: Positive
    rounds: Positive


class Session(TypedDict):
    """The manifest of a saved session (docs/sessions.md)."""

    id: SessionId
    schema: Literal["1"]
    title: Title
    notes: list[NotePlace]
    open: Opens
    created: Time
    run: str
    prompt: str
    model: Model
    steps: Positive
    workload: NotRequired[Asked]
    bytes: Positive
    parts: list[Part]
    values: NotRequired[StoredValues | None]


class Look(TypedDict):
    """One attention weight, as it was and as it became."""

    layer: Count
    head: Count
    query: Count
    key: Count
    was: float
    became: float


class Smaller(TypedDict):
    """docs/frames.md, On demand."""

    bytes: Positive
    per_position: Positive
    furthest: Look
    kl: list[float]
    likeliest: list[list[Token]]


class Difference(TypedDict):
    largest: float
    size: float


class Operation(TypedDict):
    """By its hook point; `cached`: the older rows were read from the cache."""

    name: str
    cached: bool
    old: Difference
    new: Difference


class Operations(TypedDict):
    """docs/frames.md, On demand."""

    operations: list[Operation]


class Appended(TypedDict):
    by_layer: list[float]
    by_position: list[float]
    likeliest: Token


class Masked(TypedDict):
    with_mask: Appended
    without: Appended


class Everything(TypedDict):
    """Bytes, and milliseconds that reading them takes."""

    everything: Count
    kv: Count
    everything_ms: float
    kv_ms: float
    conditions: Conditions


class Turned(TypedDict):
    changes: dict[str, float]
    pairs: list[list[list[float]]]


Numbers = list[float]
Rows = list[Numbers]


class WorkedExample(TypedDict):
    """What a worked example is made of: `parts` are its matrices by name."""

    words: list[str]
    prompt: list[Count]
    given: Count | None
    temperature: float
    parts: dict[str, Rows]


class WorkedStep(TypedDict):
    """One pass of it: docs/frames.md, By hand."""

    x: Rows
    q: list[Rows]
    k: list[Rows]
    v: list[Rows]
    scores: list[Rows]
    scaled: list[Rows]
    weights: list[Rows]
    mixed: list[Rows]
    output: Rows | None
    logits: Numbers | None
    probabilities: Numbers | None
    projections: Positive


class Worked(TypedDict):
    """`difference`: the largest between what the heads give with the cache and without."""

    example: WorkedExample
    prefill: WorkedStep
    token: Count
    decode: WorkedStep
    without_cache: WorkedStep
    difference: float


Milliseconds = Annotated[float, Field(gt=0)]
PerSecond = Annotated[float, Field(gt=0)]


class Bandwidth(TypedDict):
    """`bytes`: read in each take; `per_second`: in the median one, `spread`: in the longest and in the shortest."""

    bytes: Positive
    per_second: PerSecond
    spread: list[PerSecond]
    takes_ms: list[Milliseconds]
    conditions: Conditions


class Peak(TypedDict):
    """`flops`: multiply-adds × 2 of each take; `per_second`: in the median one, `spread`: as of bandwidth."""

    flops: Positive
    per_second: PerSecond
    spread: list[PerSecond]
    takes_ms: list[Milliseconds]
    conditions: Conditions


class WeightsRead(Bandwidth):
    """The same of the model's own matrices; `formats`: their bytes by format."""

    formats: dict[str, Positive]


class Measured(TypedDict):
    """What the engine's machine can do at best: docs/frames.md, Measured. `threads` is null on a GPU."""

    device: str
    threads: Positive | None
    dtype: str
    bandwidth: Bandwidth
    peak: Peak
    weights: WeightsRead


class OEmbed(TypedDict):
    """https://oembed.com"""

    version: Literal["1.0"]
    type: Literal["rich"]
    provider_name: str
    provider_url: str
    title: str
    html: str
    width: Positive
    height: Positive
    cache_age: Positive
    thumbnail_url: NotRequired[str]
    thumbnail_width: NotRequired[Positive]
    thumbnail_height: NotRequired[Positive]


IndexKind = Literal["idea", "term", "lesson", "page", "view", "recording", "setting", "elsewhere"]


class IndexEntry(TypedDict):
    """What the search can find. `also`: other names; `address`: from the server's root, null where no page shows it."""

    kind: IndexKind
    id: str
    name: str
    text: str
    also: list[str]
    address: str | None


class Index(TypedDict):
    entries: list[IndexEntry]


class Health(TypedDict):
    status: Literal["ok"]
    version: str


class Readiness(TypedDict):
    state: Literal["unloaded", "fetching", "loading", "ready", "failed", "restarting"]
    phase: str
    done: Count
    total: Count
    message: str
    compiled: Annotated[
        str, Field(description="What was compiled to make steps faster, or why nothing was; empty if nobody tried")
    ]
    compiling: Annotated[Literal[False], Field(description="Always false: code is compiled before the model is ready")]
    model: Model | None


class ListedLesson(TypedDict):
    """`number`: from 1; `steps`: how many; `ideas`: ids of what it shows; `needs`: ids of lessons before it; `own`: it
    does not ship, but is of the folder that `--lessons` names.
    """

    id: str
    number: Positive
    title: str
    minutes: Positive
    steps: Count
    ideas: list[str]
    needs: list[str]
    own: bool
    url: str


class LessonList(TypedDict):
    lessons: list[ListedLesson]


class RenderedLesson(TypedDict):
    """`run`: whose values the numbers are; `session`: of the recording; `logged`: whether the recording is a run of the
    log too; `own`: whether `run` was asked for; `along`: by step, sections of documents that lead there.
    """

    id: str
    title: str
    minutes: Positive | None
    ideas: list[str]
    steps: list[dict[str, Any]]
    along: dict[int, list[str]]
    run: str | None
    session: str | None
    logged: bool
    own: bool
