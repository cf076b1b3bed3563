"""What the GitHub stand-in remembers, and how each operation reads or changes it.

Bodies start from the examples in GitHub's own description, so that every field is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import quote, unquote

from github_contract import contract
from github_git_data import GitData
from github_wire import Answer

T = TypeVar("T")

BODY_CHARACTERS = 65_536
DESCRIPTION_CHARACTERS = 140
NODE_IDS = 100
"""How many `nodes` GraphQL looks up at once."""


@dataclass(frozen=True, slots=True)
class Account:
    """Someone on GitHub."""

    login: str
    type: Literal["User", "Bot"] = "User"


JOB = Account("github-actions[bot]", "Bot")
"""Whom the token of a workflow's job acts as."""


@dataclass(slots=True)
class Comment:
    id: int
    pull_request: int
    author: Account
    body: str
    minimised: bool = False

    @property
    def node_id(self) -> str:
        return f"IC_{self.id}"


@dataclass(slots=True)
class PullRequest:
    number: int
    head_sha: str
    head_repository: str | None
    """`owner/name`; None for a fork that was deleted."""
    base_ref: str = "main"
    base_sha: str = "b" * 40
    head_ref: str = "topic"
    state: Literal["open", "closed"] = "open"


@dataclass(frozen=True, slots=True)
class Status:
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """A request, taken apart, and who sent it."""

    operation: str
    """GitHub's `operationId`, `graphql`, or empty for what the slice does not know."""
    arguments: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    sender: Account
    api_url: str
    """Where this GitHub is: bodies point back to it."""
    url: str
    """What was asked for, without the query: pages point to each other."""


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """GitHub says no, and why."""
    body = {"message": message, "documentation_url": "https://docs.github.com/rest"}
    return Answer(status, {**body, "status": str(status)}, headers or {})


NOT_FOUND = refusal(404, "Not Found")
NO_PERMISSION = refusal(403, "Resource not accessible by integration")


def _invalid(resource: str, message: str) -> Answer:
    error = {"resource": resource, "code": "custom", "field": "data", "message": message}
    body = {"message": "Validation Failed", "errors": [error]}
    return Answer(422, {**body, "documentation_url": "https://docs.github.com/rest"})


@dataclass
class Repository:
    """One repository: its pull requests, their comments, the statuses of its commits."""

    name: str
    pull_requests: dict[int, PullRequest] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    git: GitData = field(default_factory=GitData)
    knows_pull_requests_of_commits: bool = True
    """Of the commits that a fork brought, GitHub does not always know."""

    def __post_init__(self) -> None:
        self._example = contract().example
        self._newest_id = 1000
        self._operations: Mapping[str, Callable[[Call], Answer]] = {
            "graphql": self._nodes,
            "pulls/get": self._pull_request,
            "pulls/list": self._pull_requests_from,
            "repos/list-pull-requests-associated-with-commit": self._pull_requests_of,
            "repos/get-branch": self._git(self.git.branch, "branch"),
            "git/get-commit": self._git(self.git.commit, "commit_sha"),
            "git/get-tree": self._git(self.git.tree, "tree_sha"),
            "git/get-blob": self._git(self.git.blob, "file_sha"),
            "issues/list-comments": self._listed_comments,
            "issues/create-comment": self._new_comment,
            "issues/update-comment": self._edited_comment,
            "issues/delete-comment": self._deleted_comment,
            "repos/create-commit-status": self._new_status,
            "repos/list-commit-statuses-for-ref": self._listed_statuses,
            "users/get-authenticated": self._sender,
        }

    def open_pull_request(
        self, number: int, head_sha: str, head_repository: str | None = ""
    ) -> PullRequest:
        """A pull request; from a branch of this repository unless another one is named."""
        home = self.name if head_repository == "" else head_repository
        self.pull_requests[number] = PullRequest(number, head_sha, home)
        return self.pull_requests[number]

    def comment(self, pull_request: int, author: Account, body: str) -> Comment:
        """Someone comments."""
        self._newest_id += 1
        self.comments.append(Comment(self._newest_id, pull_request, author, body))
        return self.comments[-1]

    def answer(self, call: Call) -> Answer:
        """Carry an operation out."""
        asked = call.arguments
        elsewhere = "owner" in asked and f"{asked['owner']}/{asked['repo']}" != self.name
        operation = self._operations.get(call.operation)
        return NOT_FOUND if elsewhere or operation is None else operation(call)

    def _git(self, look: Callable[[str], Any], argument: str) -> Callable[[Call], Answer]:
        """An operation that looks one thing up."""

        def answer(call: Call) -> Answer:
            found = look(unquote(call.arguments[argument]))
            return NOT_FOUND if found is None else Answer(200, self._here(found, call))

        return answer

    # Pull requests

    def _pull_request(self, call: Call) -> Answer:
        pull = self.pull_requests.get(int(call.arguments["pull_number"]))
        if pull is None:
            return NOT_FOUND
        body = _numbered(self._here(self._example("pull-request"), call), pull.number)
        comments = sum(comment.pull_request == pull.number for comment in self.comments)
        body |= {"number": pull.number, "comments": comments}
        body["base"] |= {"sha": pull.base_sha, "ref": pull.base_ref}
        self._add_head(body, pull)
        return Answer(200, body)

    def _add_head(self, body: Any, pull: PullRequest) -> None:
        body["head"] |= {"sha": pull.head_sha, "ref": pull.head_ref}
        if pull.head_repository is None:
            body["head"]["repo"] = None
        elif pull.head_repository != self.name:
            body["head"]["repo"] |= {"id": 99, "full_name": pull.head_repository}

    def _pull_requests_of(self, call: Call) -> Answer:
        """Those that a commit is part of, whatever has become of them."""
        if not self.knows_pull_requests_of_commits:
            return Answer(200, [])
        sha = call.arguments["commit_sha"]
        found = [
            pull
            for pull in self.pull_requests.values()
            if sha in {pull.head_sha, *self.git.parents.get(pull.head_sha, ())}
        ]
        part, headers = _paged(found, call)
        return Answer(200, [self._listed(pull, call) for pull in part], headers)

    def _pull_requests_from(self, call: Call) -> Answer:
        found = [
            pull
            for pull in self.pull_requests.values()
            if pull.head_repository is not None
            and f"{pull.head_repository.split('/')[0]}:{pull.head_ref}" == call.query["head"]
            and pull.state == call.query["state"]
        ]
        part, headers = _paged(found, call)
        return Answer(200, [self._listed(pull, call) for pull in part], headers)

    def _listed(self, pull: PullRequest, call: Call) -> Any:
        example = self._example("pull-request-simple-items")[0]
        body = _numbered(self._here(example, call), pull.number)
        body |= {"number": pull.number, "state": pull.state}
        self._add_head(body, pull)
        return body

    # Comments

    def _listed_comments(self, call: Call) -> Answer:
        number = int(call.arguments["issue_number"])
        if number not in self.pull_requests:
            return NOT_FOUND
        of_pull = [comment for comment in self.comments if comment.pull_request == number]
        part, headers = _paged(of_pull, call)
        return Answer(200, [self._shown(comment, call) for comment in part], headers)

    def _new_comment(self, call: Call) -> Answer:
        number = int(call.arguments["issue_number"])
        if number not in self.pull_requests:
            return NOT_FOUND
        if problem := _body_problem(call.body["body"]):
            return problem
        return Answer(201, self._shown(self.comment(number, call.sender, call.body["body"]), call))

    def _edited_comment(self, call: Call) -> Answer:
        comment = self._comment(call)
        if comment is None:
            return NOT_FOUND
        if problem := _body_problem(call.body["body"]):
            return problem
        comment.body = call.body["body"]
        return Answer(200, self._shown(comment, call))

    def _deleted_comment(self, call: Call) -> Answer:
        comment = self._comment(call)
        if comment is None:
            return NOT_FOUND
        self.comments.remove(comment)
        return Answer(204)

    def _comment(self, call: Call) -> Comment | None:
        wanted = int(call.arguments["comment_id"])
        return next((comment for comment in self.comments if comment.id == wanted), None)

    def _shown(self, comment: Comment, call: Call) -> Any:
        body = _numbered(self._here(self._example("issue-comment"), call), comment.pull_request)
        page = f"https://github.com/{self.name}/pull/{comment.pull_request}"
        return body | {
            "id": comment.id,
            "node_id": comment.node_id,
            "url": f"{call.api_url}/repos/{self.name}/issues/comments/{comment.id}",
            "html_url": f"{page}#issuecomment-{comment.id}",
            "body": comment.body,
            "user": _as_account(body["user"], comment.author),
            "minimized": {"reason": "outdated"} if comment.minimised else None,
        }

    # Statuses

    def _new_status(self, call: Call) -> Answer:
        description = call.body.get("description")
        if len(description or "") > DESCRIPTION_CHARACTERS:
            return _invalid("Status", "description is too long (maximum is 140 characters)")
        status = Status(
            call.arguments["sha"],
            call.body["state"],
            call.body.get("context", "default"),
            description,
            call.body.get("target_url"),
        )
        self.statuses.append(status)
        return Answer(201, self._shown_status(status, call))

    def _listed_statuses(self, call: Call) -> Answer:
        newest_first = [
            status for status in reversed(self.statuses) if status.sha == call.arguments["ref"]
        ]
        part, headers = _paged(newest_first, call)
        return Answer(200, [self._shown_status(status, call) for status in part], headers)

    def _shown_status(self, status: Status, call: Call) -> Any:
        body = self._here(self._example("status"), call)
        return body | {
            "url": f"{call.api_url}/repos/{self.name}/statuses/{status.sha}",
            "state": status.state,
            "context": status.context,
            "description": status.description,
            "target_url": status.target_url,
        }

    # Who is asking

    def _sender(self, call: Call) -> Answer:
        if call.sender.type == "Bot":
            return NO_PERMISSION
        name = "private-user-response-with-public-profile-information"
        body = self._here(self._example(name), call) | {"user_view_type": "public"}
        return Answer(200, _as_account(body, call.sender))

    def _nodes(self, call: Call) -> Answer:
        """GraphQL's `nodes`, for comments: the one query that is asked of this GitHub."""
        asked = re.fullmatch(
            r"query\(\$ids: \[ID!\]!\) \{ nodes\(ids: \$ids\) "
            r"\{ \.\.\. on IssueComment \{ ((?:viewerDidAuthor|isMinimized| )+) \} \} \}",
            " ".join(call.body["query"].split()),
        )
        ids = call.body["variables"]["ids"]
        if asked is None:
            return _graphql_error(None, {"message": "this stand-in does not know that query"})
        if len(ids) > NODE_IDS:
            message = f"You may not provide more than {NODE_IDS} node ids; you provided {len(ids)}."
            return _graphql_error(None, {"type": "ARGUMENT_LIMIT", "message": message})
        found = {comment.node_id: comment for comment in self.comments}
        known = {
            node: {
                "viewerDidAuthor": comment.author == call.sender,
                "isMinimized": comment.minimised,
            }
            for node, comment in found.items()
        }
        nodes = [
            {name: known[node][name] for name in asked[1].split()} if node in known else None
            for node in ids
        ]
        missing = [
            {
                "type": "NOT_FOUND",
                "path": ["nodes", place],
                "message": f"Could not resolve to a node with the global id of '{ids[place]}'.",
            }
            for place, node in enumerate(nodes)
            if node is None
        ]
        return _graphql_error({"nodes": nodes}, *missing)

    def _here(self, example: Any, call: Call) -> Any:
        """The example as this repository, on this server, would have it."""
        text = json.dumps(example)
        text = text.replace("https://api.github.com", call.api_url)
        return json.loads(text.replace("octocat/Hello-World", self.name))


def _numbered(body: Any, number: int) -> Any:
    """GitHub's examples are all of number 1347."""
    return json.loads(re.sub(r"(pulls?|issues)/1347\b", rf"\1/{number}", json.dumps(body)))


def _as_account(body: Any, account: Account) -> Any:
    text = json.dumps(body).replace("octocat", quote(account.login))
    return json.loads(text) | {"login": account.login, "type": account.type}


def _body_problem(body: str) -> Answer | None:
    if not body.strip():
        return _invalid("IssueComment", "Body cannot be blank")
    if len(body) > BODY_CHARACTERS:
        return _invalid("IssueComment", "Body is too long (maximum is 65536 characters)")
    return None


def _graphql_error(data: Any, *errors: Mapping[str, Any]) -> Answer:
    return Answer(200, {"data": data} | ({"errors": list(errors)} if errors else {}))


def _paged(items: Sequence[T], call: Call) -> tuple[Sequence[T], Mapping[str, str]]:
    size = min(int(call.query.get("per_page", 30)), 100)
    page = int(call.query.get("page", 1))
    last = max(-(-len(items) // size), 1)
    links = [
        f'<{call.url}?per_page={size}&page={target}>; rel="{name}"'
        for name, target, applies in (
            ("prev", page - 1, page > 1),
            ("next", page + 1, page < last),
            ("last", last, page < last),
            ("first", 1, page > 1),
        )
        if applies
    ]
    return items[(page - 1) * size : page * size], {"link": ", ".join(links)} if links else {}
