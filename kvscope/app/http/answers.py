"""Types of the JSON that the HTTP contract answers, from which openapi.py makes the published document.

Later versions may add members.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from kvscope.app.travel.words import NoteText, Title, View
from kvscope.model.api import ComputedBy, ValueLevel
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
    """Where a branch leaves its parent run."""

    run: str
    position: Count
    token: NotRequired[Any]


class Study(TypedDict):
    """Why a run was derived. A workload is derived from no run."""

    kind: Literal["twin", "beam", "serving"]
    of: NotRequired[str]


class Created(TypedDict):
    id: str
    url: str
    delete_token: str


class Queued(Created):
    """`place`: 1 for the next run. `estimate_s`: seconds until it starts, about; null while unknown."""

    status: Literal["queued"]
    place: Positive
    estimate_s: Count | None


class Waits(TypedDict):
    """A queued run. It has no log yet."""

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
    """The number of the request in the workload."""


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


class Foil(TypedDict):
    logprob: float
    logit: float


class Predicted(TypedDict):
    """The next-token distribution: natural logarithm of the probability of the step's token and its logit, the same of
    the foil, Kullback–Leibler divergence from the unchanged step in nats, most likely token.
    """

    logprob: float
    logit: float
    foil: Foil
    kl: float
    best: Token


class Effects(TypedDict):
    """`count`: number of all parts. `effects`: of the parts from `first` on. `foil`: the token compared with. `other`:
    the next-token distribution of the other prompt. `prompts`: the other prompts. `ms`: duration of the passes.
    """

    count: Count
    foil: Token
    base: Predicted
    other: Predicted | None
    effects: list[Predicted]
    prompts: list[str]
    ms: float


class Direct(TypedDict):
    """Each inner list has the shares of the logit of the step's token, of the foil's, and of the mean of all logits.
    `logits`: the model's own. `heads` count layer by layer; `out_bias`: the part of `attention` that no head has.
    """

    foil: Token
    logits: list[float]
    heads: list[list[float]]
    attention: list[list[float]]
    out_bias: list[list[float]]
    mlp: list[list[float]]
    embedding: list[float]
    bias: list[float]


class Patterns(TypedDict):
    """Mean attention weights of all heads, layer by layer, on `sequences` sequences of `length` random tokens, each
    read twice.
    """

    previous: list[float]
    induction: list[float]
    length: Count
    sequences: Count
    seed: Count


class Chosen(TypedDict):
    prob: float
    rank: Count


class LineTensor(TypedDict):
    """`of`: a variable, or a hook point by its name relative to its block; empty for a returned value."""

    of: str
    hook: bool
    shape: list[Count]
    dtype: str
    bytes: Count


class Code(TypedDict):
    """`lines`: tensors by file and line. `ran`: lines that ran, by file. `rows`: of the last of `passes`."""

    lines: dict[str, dict[str, list[LineTensor]]]
    ran: dict[str, list[Count]]
    rows: Positive
    passes: Positive


class Call(TypedDict):
    """A function: where it begins, how often its caller called it, and its own calls."""

    name: str
    path: str
    line: Positive
    count: Positive
    calls: list[Call]


class Calls(TypedDict):
    """`decode`: null if the first token ended the text."""

    prefill: Call
    decode: Call | None


class SourceFunction(TypedDict):
    name: str
    first: Positive
    last: Positive


class SourceTensor(TypedDict):
    """A tensor whose shape is in letters: docs/frames.md, On demand."""

    of: str
    hook: bool
    axes: list[str]


class SourceShapes(TypedDict):
    """A statement: its first line, the model properties with which it runs, its tensors."""

    line: Positive
    when: dict[str, bool]
    tensors: list[SourceTensor]


class SourceFile(TypedDict):
    """`lines`: each is a list of parts: text, kind, tensors that the text names."""

    path: str
    lines: list[list[list[Any]]]
    functions: list[SourceFunction]
    shapes: list[SourceShapes]


class Source(TypedDict):
    """`version`: changes with the content of the files."""

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
    """The token that came next: its probability, its rank from 0, and its loss (−ln of the probability)."""

    prob: float
    rank: Count
    loss: float


class StepTiming(TypedDict):
    """`ms`: duration of the forward passes. `weights_read`: bytes by format."""

    ms: Annotated[float, Field(ge=0)]
    rows: Positive
    weights_read: dict[str, int]
    conditions: Conditions


class Prediction(TypedDict):
    """The prediction at one position. `came`: null for the last position."""

    best: Token
    came: Came | None


class KeptBytes(TypedDict):
    """Bytes of the logits of all positions, of the last position, and of all K and V."""

    logits: Positive
    last_logits: Positive
    kv: Positive


class Losses(TypedDict):
    """`loss`: mean over the positions, null for a prompt of one token. `perplexity`: e to the power of `loss`."""

    positions: list[Prediction]
    loss: float | None
    perplexity: float | None
    bytes: KeptBytes


class Cut(TypedDict):
    """The first `limit` tokens of a prompt of `count` tokens. `positions`: the most of a run, prompt and answer.

    `row_ms`, `step_ms`: a row of prefill and a decode step, as measured so far; null before a measurement.
    """

    tokens: list[Token]
    count: Count
    limit: Positive
    positions: Positive
    row_ms: Annotated[float, Field(ge=0)] | None
    step_ms: Annotated[float, Field(ge=0)] | None


class Plane(TypedDict):
    """`points`: two coordinates of the token, then of each nearest one. `kept`: share of the variance in the plane."""

    points: list[list[float]]
    kept: Annotated[float, Field(ge=0)]


class Embedding(TypedDict):
    """`nearest`: rows with the largest `cosine` among the `vocab` rows. `tied`: the LM head is the same table."""

    token: Token
    row: list[float]
    length: float
    nearest: list[Token]
    plane: Plane
    vocab: Positive
    tied: bool


class Word(TypedDict):
    """`length`: of the word's row, or of the mean of its tokens' rows."""

    word: str
    tokens: list[Token]
    length: float


class WordsBeside(TypedDict):
    """`cosines`: of each pair of words, null for a row of length 0. `plane`: of the rows, `width` numbers each."""

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
    """The size of a workload that is saved as a session."""

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
    """One attention weight, before and after."""

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


class Twice(TypedDict):
    """A row's logits alone and beside other rows. `alone`, `beside`: the token that is chosen from each."""

    differing: Count
    largest: float
    alone: Token
    beside: Token


class TwiceByTorch(TypedDict):
    float32: Twice
    bfloat16: Twice


class Three(TypedDict):
    numbers: list[float]
    left: float
    right: float
    at: Positive


class Sums(TypedDict):
    count: Positive
    one_by_one: float
    in_lanes: float
    backwards: float
    exact: float
    three: Three | None


class StepTwice(TypedDict):
    step: Count
    gap: float
    engine: Twice
    torch: TwiceByTorch
    sums: Sums


class Invariance(TypedDict):
    """docs/frames.md, On demand."""

    by: ComputedBy
    rows: Positive
    logits: Positive
    steps: list[StepTwice]


class Difference(TypedDict):
    largest: float
    size: float


class Operation(TypedDict):
    """`name`: the hook point. `cached`: the older rows came from the cache."""

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
    """Bytes, and milliseconds to read them."""

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
    """The inputs of a worked example. `parts`: its matrices by name."""

    words: list[str]
    prompt: list[Count]
    given: Count | None
    temperature: float
    norm_eps: float | None
    parts: dict[str, Rows]


class WorkedStep(TypedDict):
    """One pass of a worked example: docs/frames.md, By hand."""

    x: Rows
    q: list[Rows]
    k: list[Rows]
    v: list[Rows]
    scores: list[Rows]
    scaled: list[Rows]
    weights: list[Rows]
    mixed: list[Rows]
    by_head: list[Rows] | None
    output: Rows | None
    rest: dict[str, Rows] | None
    logits: Numbers | None
    probabilities: Numbers | None
    projections: Positive


class Worked(TypedDict):
    """`difference`: the largest between the outputs of the heads with the cache and without."""

    example: WorkedExample
    prefill: WorkedStep
    token: Count
    decode: WorkedStep
    without_cache: WorkedStep
    difference: float


Milliseconds = Annotated[float, Field(gt=0)]
PerSecond = Annotated[float, Field(gt=0)]


class Bandwidth(TypedDict):
    """`bytes`: read in each take. `per_second`: of the median take. `spread`: of the longest and the shortest take."""

    bytes: Positive
    per_second: PerSecond
    spread: list[PerSecond]
    takes_ms: list[Milliseconds]
    conditions: Conditions


class Peak(TypedDict):
    """`flops`: multiply-adds × 2 of each take. `per_second`, `spread`: as in Bandwidth."""

    flops: Positive
    per_second: PerSecond
    spread: list[PerSecond]
    takes_ms: list[Milliseconds]
    conditions: Conditions


class WeightsRead(Bandwidth):
    """The bandwidth with the model's own matrices. `formats`: their bytes by format."""

    formats: dict[str, Positive]


class Measured(TypedDict):
    """Limits of the engine's machine: docs/frames.md, Measured. `threads`: null on a GPU."""

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


IndexKind = Literal["idea", "term", "lesson", "page", "view", "recording", "setting", "printed", "elsewhere"]


class IndexEntry(TypedDict):
    """One result of the search. `also`: other names. `address`: from the server's root; null if no page shows it."""

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
    """`number`: from 1. `steps`: number of steps. `ideas`: ids of its ideas. `needs`: ids of lessons before it. `own`:
    from the folder that `--lessons` names.
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


class LessonTemplate(TypedDict):
    """The members of a lesson that are computed over a run, with expressions in place of values."""

    id: str
    title: str
    minutes: Positive | None
    ideas: list[str]
    steps: list[dict[str, Any]]


class RenderedLesson(TypedDict):
    """`run`: the run that the numbers are computed from. `session`: the saved recording. `logged`: the recording is
    also a run of the log. `own`: the request named `run`. `along`: by step, sections of documents that lead to it.
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


RoomCode = Annotated[str, Field(pattern="^[2-9A-HJKMNP-Z]{8}$")]


class ShownPlace(TypedDict):
    """What a room's presenter shows. `address`: of a page, below the server's own address; `within`: of the picture
    beside a lesson's text; `answered`: whether the shown step of a lesson has its answer.
    """

    address: str
    within: str | None
    playing: bool
    answered: bool


class Histogram(TypedDict):
    """How often each answer was chosen, most often first; `others`: answers beyond those listed."""

    counts: dict[str, Count]
    others: Count


class RoomQuestion(TypedDict):
    """A question to the followers of a room. `number` grows with each question and each second vote; `rounds`: the
    histograms of the last two votes that were revealed.
    """

    number: Positive
    text: str
    kind: Literal["choice", "number", "token"]
    choices: list[str]
    open: bool
    rounds: list[Histogram]


class RoomState(TypedDict):
    """A room. `seq` counts its changes; `expires`: seconds since 1970."""

    code: RoomCode
    seq: Count
    expires: Count
    place: ShownPlace
    question: RoomQuestion | None


class OpenedRoom(RoomState):
    """A new room. `secret`: whoever has it presents."""

    secret: str


class Attendance(TypedDict):
    """How many follow a room, and how many of them have answered its question."""

    followers: Count
    answered: Count
