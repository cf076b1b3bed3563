"""The stand-in itself: it notices what GitHub's description does not allow, on either side."""

from __future__ import annotations

import json

import httpx
import pytest

from github_contract import contract
from github_repository import Account
from github_scene import HEAD, NUMBER
from github_stand_in import GitHubStandIn

COMMENTS = f"/repos/octo/skills/issues/{NUMBER}/comments"


def ask(
    github: GitHubStandIn, method: str, path: str, body: object = None, token: str | None = None
) -> httpx.Response:
    """A request as any client would send it."""
    headers = {"authorization": f"Bearer {token or github.token}"}
    content = None if body is None else json.dumps(body)
    if content is not None:
        headers["content-type"] = "application/json"
    return httpx.request(
        method, f"{github.api_url}{path}", headers=headers, content=content, trust_env=False
    )


@pytest.fixture
def scene() -> GitHubStandIn:
    """Here violations are expected."""
    stand_in = GitHubStandIn()
    stand_in.repository.open_pull_request(NUMBER, HEAD)
    return stand_in


@pytest.mark.parametrize(
    ("method", "path", "body", "noticed"),
    [
        ("GET", "/repos/octo/skills/releases", None, "PathNotFound"),
        ("PUT", COMMENTS, {"body": "x"}, "OperationNotFound"),
        ("POST", COMMENTS, {"bodi": "x"}, "body"),
        ("POST", COMMENTS, {"body": 7}, "body: 7 is not of type 'string'"),
        ("POST", COMMENTS, {"body": "x", "markdown": True}, "markdown"),
        ("GET", f"{COMMENTS}?page=first", None, "first"),
        ("POST", f"/repos/octo/skills/statuses/{HEAD}", {"state": "passed"}, "state"),
    ],
)
def test_a_request_that_github_does_not_describe_is_noticed(
    scene: GitHubStandIn, method: str, path: str, body: object, noticed: str
) -> None:
    """Another path or method, a field of another name or type, a value that is none of those."""
    with scene as github:
        answer = ask(github, method, path, body)

    assert len(github.violations) == 1
    assert noticed in github.violations[0]
    assert answer.status_code in {404, 422}


def test_an_answer_that_github_would_not_give_is_noticed() -> None:
    """The stand-in is held to the description as well."""
    example = contract().example("issue-comment")
    assert problem_of("issues/create-comment", 201, example) is None

    assert "html_url" in str(
        problem_of("issues/create-comment", 201, {**example, "html_url": None})
    )
    del example["created_at"]
    assert "created_at" in str(problem_of("issues/create-comment", 201, example))
    assert "299 is not an answer" in str(problem_of("issues/create-comment", 299, {}))
    assert "message" in str(problem_of("issues/create-comment", 429, {"message": 7}))


def problem_of(operation: str, status: int, body: object) -> str | None:
    return contract().response_problem(operation, status, json.dumps(body).encode(), {})


def test_comments_come_in_pages_that_point_to_each_other(scene: GitHubStandIn) -> None:
    """Thirty at a time unless asked for more, never more than a hundred."""
    for number in range(230):
        scene.repository.comment(NUMBER, Account("octocat"), f"comment {number}")
    with scene as github:
        first = ask(github, "GET", COMMENTS)
        second = ask(github, "GET", f"{COMMENTS}?per_page=500&page=2")
        third = ask(github, "GET", f"{COMMENTS}?per_page=100&page=3")
        behind = ask(github, "GET", f"{COMMENTS}?per_page=100&page=4")

    assert [len(page.json()) for page in (first, second, third, behind)] == [30, 100, 30, 0]
    assert set(first.links) == {"next", "last"}
    assert set(second.links) == {"prev", "next", "last", "first"}
    assert set(third.links) == {"prev", "first"}
    assert second.links["next"]["url"] == f"{github.api_url}{COMMENTS}?per_page=100&page=3"


def test_a_comment_may_have_65536_characters(scene: GitHubStandIn) -> None:
    """And not one more."""
    with scene as github:
        fits = ask(github, "POST", COMMENTS, {"body": "ä" * 65_536})
        too_long = ask(github, "POST", COMMENTS, {"body": "ä" * 65_537})

    assert (fits.status_code, too_long.status_code) == (201, 422)
    assert not github.violations


def test_what_a_token_may_not_do_is_refused(scene: GitHubStandIn) -> None:
    """In GitHub's words."""
    scene.permissions = {"pull_requests": "read"}
    with scene as github:
        read = ask(github, "GET", COMMENTS)
        write = ask(github, "POST", COMMENTS, {"body": "x"})
        other = ask(github, "GET", f"/repos/octo/skills/commits/{HEAD}/statuses")
        unknown = ask(github, "GET", COMMENTS, token="another")

    assert (read.status_code, write.status_code, other.status_code) == (200, 403, 403)
    assert write.json()["message"] == "Resource not accessible by integration"
    assert unknown.status_code == 401
    assert not github.violations
