"""A person's word for a commit (a branch, a tag, `HEAD~2`) becomes that commit."""

from __future__ import annotations

import difflib
import heapq
import re
from itertools import count

from skill_delta.errors import UserError
from skill_delta.history.repository import COMMIT, TAG, Repository, Unreadable

_STEPS = re.compile(r"(?P<base>[^~^]+)(?P<steps>(?:~[0-9]{0,9}|\^[0-9]{0,9}|\^\{(?:commit)?\})*)")
_STEP = re.compile(r"([~^])(\{?)([0-9]*)")
_DESCRIBED = re.compile(r".+-\d+-g([0-9a-f]{4,64})")
_ABBREVIATED = re.compile(r"[0-9a-f]{4,64}")
_PSEUDO_REF = re.compile(r"[A-Z_]+")

_REF_PLACES = (
    "refs/{}",
    "refs/tags/{}",
    "refs/heads/{}",
    "refs/remotes/{}",
    "refs/remotes/{}/HEAD",
)
_DEFAULT_BRANCHES = (
    *(b"refs/remotes/origin/HEAD",),
    *(b"refs/heads/main", b"refs/remotes/origin/main"),
    *(b"refs/heads/master", b"refs/remotes/origin/master"),
)
_TAG_DEPTH = 10
_SHOWN = 100
"""How much of a revision's name a message repeats, in characters."""
_BASELINES = ("previous", "base", "none")
"""The baselines that are no revisions, which a person may have meant."""


class UnknownRevision(UserError):  # noqa: N818 - it is one
    """A revision that names no commit of this repository."""

    def __init__(self, revision: str, why: str = "no branch, tag or commit has this name") -> None:
        self.why = why
        named = revision if len(revision) <= _SHOWN else f"{revision[:_SHOWN]}…"
        meant = _baseline_like(revision)
        super().__init__(
            f"unknown revision {named!r}: {why}",
            hint=f"did you mean {meant}? Several baselines: repeat --baseline"
            if meant
            else "name a branch, a tag or a commit that is in this clone; a shallow clone lacks "
            "most of them (`fetch-depth: 0` on actions/checkout, or `git fetch --unshallow`)",
        )


def _baseline_like(revision: str) -> str | None:
    """The baseline that a name is close to, or that the first such part between commas is."""
    for part in revision[:_SHOWN].lower().split(","):
        if close := difflib.get_close_matches(part.strip(), _BASELINES, n=1, cutoff=0.7):
            return close[0]
    return None


def find_commit(repository: Repository, revision: str) -> bytes:
    """The commit that `revision` names, by git's rules, with any number of `~n` and `^n`.

    `n` has nine digits at most. Raises `UnknownRevision`.
    """
    parts = _STEPS.fullmatch(revision)
    if parts is None:
        raise UnknownRevision(revision)
    name = "HEAD" if parts["base"] == "@" else parts["base"]
    try:
        named = _named(repository, name, revision)
        return _walked(repository, _peeled(repository, named, revision), parts["steps"], revision)
    except Unreadable as error:
        raise UnknownRevision(revision, str(error)) from None


def _named(repository: Repository, name: str, revision: str) -> bytes:
    """The object, commit or tag, that a name without steps stands for."""
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name.lower()):
        return bytes.fromhex(name)
    places = [name] if _PSEUDO_REF.fullmatch(name) or name.startswith("refs/") else []
    for place in (*places, *(place.format(name) for place in _REF_PLACES)):
        if (found := repository.ref(place.encode("utf-8", "surrogateescape"))) is not None:
            return found
    described = _DESCRIBED.fullmatch(name)
    prefix = described[1] if described else name.lower()
    if not _ABBREVIATED.fullmatch(prefix):
        raise UnknownRevision(revision)
    commits = [oid for oid in repository.short_ids(prefix) if _is_commit(repository, oid)]
    if len(commits) > 1:
        raise UnknownRevision(revision, f"it begins the names of {len(commits)} commits")
    if not commits:
        raise UnknownRevision(revision)
    return commits[0]


def _is_commit(repository: Repository, oid: bytes) -> bool:
    try:
        return repository.read_any(oid)[0] == COMMIT
    except Unreadable:
        return False


def _peeled(repository: Repository, oid: bytes, revision: str) -> bytes:
    """The commit behind an annotated tag, or behind a tag of a tag."""
    for _ in range(_TAG_DEPTH):
        kind, raw = repository.read_any(oid)
        if kind == COMMIT:
            return oid
        target = re.match(rb"object ([0-9a-f]+)\n", raw)
        if kind != TAG or target is None:
            break
        oid = bytes.fromhex(target[1].decode())
    raise UnknownRevision(revision, "it does not name a commit")


def _walked(repository: Repository, oid: bytes, steps: str, revision: str) -> bytes:
    seen = {oid}  # grafts and replacements can make a circle
    for sign, brace, digits in _STEP.findall(steps):
        if brace:
            continue
        number = int(digits or 1)
        ancestors, nth = (number, 0) if sign == "~" else (min(number, 1), number - 1)
        for _ in range(ancestors):
            parents = repository.commit(oid).parents
            if nth >= len(parents):
                shallow = " in this shallow clone" if oid in repository.shallow else ""
                raise UnknownRevision(
                    revision, f"commit {oid.hex()[:8]} has {len(parents)} parent(s){shallow}"
                )
            oid = parents[nth]
            if oid in seen:
                raise UnknownRevision(revision, f"commit {oid.hex()[:8]} is its own ancestor")
            seen.add(oid)
    return oid


def default_branch(repository: Repository) -> bytes | None:
    """The tip of the branch that work is based on; HEAD where no such branch is known.

    None only where there is no commit at all.
    """
    for name in _DEFAULT_BRANCHES:
        if (tip := repository.ref(name)) is not None:
            return tip
    return repository.head()


_OURS, _THEIRS, _BOTH, _STALE = 1, 2, 3, 4


def merge_base(repository: Repository, ours: bytes, theirs: bytes) -> bytes | None:
    """The newest commit that both histories share, none of whose descendants they share.

    None where they share nothing, which in a shallow clone may only mean that it is not there.
    Raises `Unreadable`.
    """
    candidates = _common(repository, ours, theirs)
    # With skewed clocks a candidate may turn out to be another one's ancestor.
    best = [
        one
        for one in candidates
        if not any(one in _common(repository, one, other) for other in candidates if other != one)
    ]
    return best[0] if best else None


def _common(repository: Repository, ours: bytes, theirs: bytes) -> list[bytes]:
    """The shared commits that no shared descendant was seen of, newest first."""
    flags: dict[bytes, int] = {}
    queue: list[tuple[int, int, bytes]] = []
    order = count()
    open_ends: set[bytes] = set()  # queued, and not known to lie behind a shared commit

    def paint(oid: bytes, colours: int) -> None:
        before = flags.get(oid, 0)
        after = flags[oid] = before | colours
        if after & _STALE:
            open_ends.discard(oid)
        elif after != before:
            open_ends.add(oid)
        if after != before:
            heapq.heappush(queue, (-repository.commit(oid).date, next(order), oid))

    paint(ours, _OURS)
    paint(theirs, _THEIRS)
    shared: dict[bytes, None] = {}
    while open_ends:
        _, _, oid = heapq.heappop(queue)
        open_ends.discard(oid)
        colours = flags[oid]
        if colours & _BOTH == _BOTH:
            shared[oid] = None
            colours |= _STALE
        for parent in repository.commit(oid).parents:
            paint(parent, colours)
    return [oid for oid in shared if not flags[oid] & _STALE]
