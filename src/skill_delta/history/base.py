"""Both ends of the comparison: the commit that is measured, and the one it is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from skill_delta.errors import ServiceError
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.revisions import (
    UnknownRevision,
    default_branch,
    find_commit,
    merge_base,
)


@dataclass(frozen=True, slots=True)
class PullRequestRefs:
    """A pull request: the id of its head, and the name of the branch it is to go into.

    The event's `base.sha` is not asked for: it lags behind the branch.
    """

    head: str
    base_branch: str


@dataclass(frozen=True, slots=True)
class MergeGroupRefs:
    """A merge queue's trial merge: two commit ids."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class PushRefs:
    """A branch that moved between two commit ids; `before` is None for a new one."""

    before: str | None
    after: str
    default_branch: str


@dataclass(frozen=True, slots=True)
class RevisionRefs:
    """Whatever revisions a person names.

    Without a head it is the commit that is checked out; without a base it is where the head left
    the default branch, which is looked for in the repository where it is not named.
    """

    base: str | None = None
    head: str | None = None
    default_branch: str = ""


Refs = PullRequestRefs | MergeGroupRefs | PushRefs | RevisionRefs


@dataclass(frozen=True, slots=True)
class Ends:
    """Two commits. `how` says in words which one the base is, to stand behind its id."""

    base: bytes
    head: bytes
    how: str


_DEEPEN = (
    "set `fetch-depth: 0` on the actions/checkout step; on your own machine, "
    "`git fetch --unshallow`"
)


class UnknownBase(ServiceError):  # noqa: N818 - an outcome: not measured
    """What the comparison needs is not in this clone: neither "new" nor "unchanged", but unknown.

    `commit` is the one that is missing, in hexadecimal digits, where it is known.
    """

    def __init__(self, problem: str, commit: bytes | None = None, hint: str = _DEEPEN) -> None:
        super().__init__(
            f"what changed is unknown, and nothing was measured: {problem}\n  help: {hint}"
        )
        self.commit = None if commit is None else commit.hex()


def find_ends(repository: Repository, refs: Refs) -> Ends:
    """The two commits that are compared.

    Raises `UnknownBase` where one of them is not in this clone, or where the clone is too shallow
    to tell which it is; `UnknownRevision` for a revision that a person named and nothing has.
    """
    try:
        match refs:
            case PullRequestRefs():
                return _of_pull_request(repository, refs)
            case MergeGroupRefs():
                return _of_merge_group(repository, refs)
            case PushRefs():
                return _of_push(repository, refs)
            case RevisionRefs():
                return _of_revisions(repository, refs)
    except Unreadable as error:
        raise UnknownBase(str(error)) from None


def _of_pull_request(repository: Repository, refs: PullRequestRefs) -> Ends:
    checked_out = repository.head()
    if checked_out is not None:
        # In the shallow clone of a checkout its parents are cut off, so what it names is read.
        parents = repository.recorded_commit(checked_out).parents
        if len(parents) == 2 and parents[1].hex() == refs.head:
            merged_into = "the first parent of the merge commit that GitHub made"
            base = _commit(repository, parents[0].hex(), merged_into)
            return Ends(base, checked_out, merged_into)
    # Trees are read, not the work tree: the head need not be what is checked out.
    head = _commit(repository, refs.head, "the pull request's head")
    how = f"where the pull request left {refs.base_branch}"
    return Ends(_left_at(repository, head, refs.base_branch), head, how)


def _left_at(repository: Repository, head: bytes, branch: str) -> bytes:
    """Where a pull request left a branch, by the server's word.

    A checkout of a fork has the fork's branches, which its owner may have moved anywhere. They are
    asked where the server cannot be, and not believed to hold all of the pull request.
    """
    told = None
    with suppress(Unreadable):
        told = repository.remote_ref(b"refs/heads/" + _branch_name(branch))
    base = _fork_point(repository, head, branch, told)
    if told is None and base == head:
        raise UnknownBase(
            f"this clone's {branch} holds all of the pull request, so it is not what the pull "
            "request goes into",
            hint="check out the pull request's merge commit, as actions/checkout does by itself",
        )
    return base


def _of_merge_group(repository: Repository, refs: MergeGroupRefs) -> Ends:
    base = _commit(repository, refs.base, "the merge group's base")
    head = _commit(repository, refs.head, "the merge group's head")
    return Ends(base, head, "what the merge queue merges into")


def _of_push(repository: Repository, refs: PushRefs) -> Ends:
    head = _commit(repository, refs.after, "what was pushed")
    if refs.before is None:
        how = f"where the new branch left {refs.default_branch or 'the default branch'}"
        return Ends(_fork_point(repository, head, refs.default_branch), head, how)
    how = "what the branch held before the push"
    return Ends(_commit(repository, refs.before, how), head, how)


def _of_revisions(repository: Repository, refs: RevisionRefs) -> Ends:
    head = find_commit(repository, refs.head or "HEAD")
    if refs.base:
        return Ends(find_commit(repository, refs.base), head, f"{refs.base}, as asked for")
    how = f"where {refs.head or 'HEAD'} left {refs.default_branch or 'the default branch'}"
    return Ends(_fork_point(repository, head, refs.default_branch), head, how)


def _commit(repository: Repository, name: str, role: str) -> bytes:
    """The commit of a full id, also behind an annotated tag."""
    try:
        return find_commit(repository, name)
    except UnknownRevision as error:
        missing = bytes.fromhex(name)
        tried = error.why.partition(", and ")[2]
        why = f", and {tried}" if tried else ""
        raise UnknownBase(f"commit {name}, {role}, is not in this clone{why}", missing) from None


def _fork_point(
    repository: Repository, head: bytes, branch: str, told: bytes | None = None
) -> bytes:
    """The newest commit that `head` and a branch share; `told` is where a server has the branch."""
    tip = told or _tip(repository, branch)
    base = merge_base(repository, head, tip)
    hidden = _hidden(repository, (head, tip), base)
    shown = branch or "the default branch"
    if hidden is not None:
        raise UnknownBase(
            f"this clone is shallow and ends before commit {hidden.hex()}, so it cannot be told "
            f"where commit {head.hex()} left {shown}",
            hidden,
        )
    if base is None:
        raise UnknownBase(
            f"commit {head.hex()} and {shown} have no commit in common",
            hint="name a commit to compare with (`--base`)",
        )
    return base


def _branch_name(branch: str) -> bytes:
    return branch.removeprefix("refs/heads/").encode("utf-8", "replace")


def _tip(repository: Repository, branch: str) -> bytes:
    if not branch:
        tip = default_branch(repository)
    else:
        name = _branch_name(branch)
        # A checkout of a pull request has the remote's branches, and none of its own.
        tip = (
            repository.ref(b"refs/remotes/origin/" + name)
            or repository.ref(b"refs/heads/" + name)
            or repository.remote_ref(b"refs/heads/" + name)
        )
    if tip is None:
        raise UnknownBase(f"the branch {branch or 'that work is based on'} is not in this clone")
    return tip


def _hidden(repository: Repository, ends: Iterable[bytes], base: bytes | None) -> bytes | None:
    """A commit beyond the shallow boundary that may be, or lead to, a newer shared one."""
    if not repository.shallow:
        return None
    settled = _ancestry(repository, () if base is None else (base,))
    for oid in sorted(_ancestry(repository, ends) & repository.shallow - settled):
        for parent in repository.recorded_commit(oid).parents:
            if parent not in settled:
                return parent
    return None


def _ancestry(repository: Repository, tips: Iterable[bytes]) -> set[bytes]:
    """The commits and all their ancestors in this clone."""
    pending = list(tips)
    seen = set(pending)
    while pending:
        for parent in repository.commit(pending.pop()).parents:
            if parent not in seen:
                seen.add(parent)
                pending.append(parent)
    return seen
