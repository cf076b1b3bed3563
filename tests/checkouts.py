"""What a workflow checks out of a pull request on one skill, and the pull request itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from git_repositories import GitRepository, skill
from pull_requests import on_branch

CASES = """\
cases:
  - name: names the order
    task: Where is my order 1234?
    assertions: [{kind: contains, value: "1234"}]
  - name: is polite
    task: Where is my order?
    assertions: [{kind: icontains, value: please}]
"""
REPLIES = """\
replies:
  - {contains: Be curt, text: "1234: shipped."}
  - {text: "Please wait: order 1234 was shipped."}
"""
PLACE = "skills/orders"
NOISE = 60
"""Commits that touch no skill, between the skill's versions: more than are fetched at first."""

Checkout = Callable[[GitRepository, Path], GitRepository]
Edit = Callable[[GitRepository], str]


def merge_at_depth_1(origin: GitRepository, folder: Path) -> GitRepository:
    """What actions/checkout does by default."""
    return fetched(origin, folder, "refs/pull/7/merge", "--depth=1")


def merge_at_depth_0(origin: GitRepository, folder: Path) -> GitRepository:
    checkout = fetched(origin, folder, "refs/pull/7/merge")
    checkout.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    return checkout


def head_at_depth_1(origin: GitRepository, folder: Path) -> GitRepository:
    return fetched(origin, folder, "refs/heads/topic", "--depth=1")


def head_at_depth_0(origin: GitRepository, folder: Path) -> GitRepository:
    checkout = fetched(origin, folder, "refs/heads/topic")
    checkout.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    return checkout


def partial_clone(origin: GitRepository, folder: Path) -> GitRepository:
    return fetched(origin, folder, "refs/pull/7/merge", "--depth=1", "--filter=blob:none")


def sparse_checkout(origin: GitRepository, folder: Path) -> GitRepository:
    """Of the merge at depth 1: the files outside of `skills` are not there."""
    GitRepository.create(folder).git("sparse-checkout", "set", "skills")
    return merge_at_depth_1(origin, folder)


CHECKOUTS = (merge_at_depth_1, merge_at_depth_0, head_at_depth_1, head_at_depth_0, partial_clone)


def with_history(folder: Path) -> GitRepository:
    """A repository with a skill at 1.0.0, then at 1.1.0, then long without an edit of it."""
    origin = GitRepository.create(folder)
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.commit(skill_files("Be kind.", "1.0.0") | {"README.md": "Skills."})
    origin.commit(skill_files("Be kind, always.", "1.1.0"))
    for number in range(NOISE):
        origin.commit({"README.md": f"Skills, edition {number}."})
    return origin


def fetched(origin: GitRepository, folder: Path, ref: str, *options: str) -> GitRepository:
    checkout = GitRepository.create(folder)
    # The address is not one that git can go on fetching from, as with persist-credentials: false.
    checkout.git("remote", "add", "origin", origin.folder.as_uri())
    checkout.git("-c", "uploadpack.allowFilter=true", "fetch", "--quiet", *options, "origin", ref)
    checkout.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    return checkout


def skill_files(body: str, version: str, place: str = PLACE) -> dict[str, str]:
    return {
        f"{place}/SKILL.md": skill(body, version=version, name="orders"),
        f"{place}/evals/orders.yaml": CASES,
        f"{place}/evals/replies.yaml": REPLIES,
    }


BASE_MOVED = {
    "README.md": "The base moved on.",
    "skills/greeting/SKILL.md": skill("Greet.", name="greeting"),
}
"""What the base has that a pull request does not: none of its doing."""


def opened(origin: GitRepository, edit: Edit) -> str:
    """A pull request from a branch, with the merge commit that GitHub makes of it; gives its head.

    The base moves on before the merge.
    """
    on_branch(origin, "topic")
    head = edit(origin)
    origin.git("switch", "--quiet", "main")
    origin.commit(BASE_MOVED)
    origin.git("switch", "--quiet", "--detach", "main")
    origin.merge("topic")
    origin.git("update-ref", "refs/pull/7/merge", "HEAD")
    origin.git("update-ref", "refs/pull/7/head", head)
    origin.git("switch", "--quiet", "main")
    return head
