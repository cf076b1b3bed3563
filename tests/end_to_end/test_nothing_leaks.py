"""A whole run on what is out to harm it: no key and no file gets out, and text stays text."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkouts import CASES, PLACE, skill_files
from git_repositories import GitRepository, skill
from github_job import Finished, Job, commands_in
from github_markdown import as_github_shows_it, is_ours_alone, visible
from github_stand_in import GitHubStandIn
from hostile_texts import HOSTILE
from model_stand_in import Answer, ModelStandIn, Received, refuses, says
from pull_requests import merged_by_github, on_branch

KEY = 'sk-live/0123+456="789"\\abcdef'
"""With what JSON, Markdown, XML and URLs spell in other ways."""

CANARY = "canary-in-a-file-outside-5d1f"


@pytest.fixture
def job(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Job:
    repository.commit(skill_files("Be kind.", "1.0.0"))
    return Job(repository, github, tmp_path / "runner", capsys, monkeypatch)


def opened(repository: GitRepository, edit: Callable[[Path], None] = lambda _: None) -> str:
    """A pull request that makes the skill curt; `edit` is done to its folder. Gives its head."""
    on_branch(repository, "topic")
    edit(repository.folder / PLACE)
    head = repository.commit(
        {f"{PLACE}/SKILL.md": skill("Be curt.", version="1.1.0", name="orders")}
    )
    merged_by_github(repository)
    return head


def all_that_left(job: Job, finished: Finished) -> dict[str, str]:
    """Every text that the run gave away, by where it went."""
    folder = job.checkout.folder / ".skill-delta"
    return {
        "log": finished.log,
        "outputs": "\n".join(finished.outputs.values()),
        "summary": finished.summary,
        "comments": "\n".join(comment.body for comment in job.github.repository.comments),
        "statuses": "\n".join(str(status) for status in job.github.repository.statuses),
        "to GitHub": "\n".join(json.dumps(each.body) for each in job.github.exchanges),
        **{path.name: path.read_text() for path in folder.rglob("*") if path.is_file()},
    }


# ------------------------------------------------------------ links


def in_the_way(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(target)


def through_a_library(folder: Path, target: str) -> None:
    in_the_way(folder / "tools.yaml", target)
    (folder / "evals/orders.yaml").write_text(f"tool_libraries: [../tools.yaml]\n{CASES}")


LINKS: dict[str, Callable[[Path, str], None]] = {
    "reference": lambda folder, target: in_the_way(folder / "references/notes.md", target),
    "script": lambda folder, target: in_the_way(folder / "scripts/run.sh", target),
    "eval file": lambda folder, target: in_the_way(folder / "evals/orders.yaml", target),
    "another eval file": lambda folder, target: in_the_way(folder / "evals/more.yaml", target),
    "replies": lambda folder, target: in_the_way(folder / "evals/replies.yaml", target),
    "tool library": through_a_library,
    "config": lambda folder, target: in_the_way(
        folder.parents[1] / ".github/skill-delta.yml", target
    ),
}


REFUSED = {"eval file", "another eval file", "replies", "tool library"}
"""Where a link is an error; elsewhere it is left out."""


@pytest.mark.parametrize("target", ["/proc/self/environ", "a file outside"])
@pytest.mark.parametrize("place", LINKS)
def test_what_a_link_leads_to_reaches_nobody(
    place: str, target: str, job: Job, tmp_path: Path
) -> None:
    """Neither the model nor a report: it may be the job's keys."""
    outside = tmp_path / "outside.yaml"
    outside.write_text(f"{CANARY}: {CANARY}\n")
    leads_to = str(outside) if target == "a file outside" else target
    environ = Path("/proc/self/environ").read_bytes().split(b"\0")
    forbidden = [CANARY, *(value.decode() for value in environ if value.startswith(b"PATH="))]
    head = opened(job.checkout, lambda folder: LINKS[place](folder, leads_to))

    with ModelStandIn(says("1234, please")) as model:
        runner, asked_for = ("scripted", "") if place == "replies" else ("openai", "m")
        finished = job.pull_request(
            head, runner=runner, model=asked_for, base_url=model.url, api_key=KEY, repeat="1"
        )
        asked = "".join(request.body.decode() for request in model.requests)

    assert finished.exit_code == (2 if place in REFUSED else 0)
    left = all_that_left(job, finished) | {"prompts": asked}
    assert not [(where, text) for where, gone in left.items() for text in forbidden if text in gone]


# ------------------------------------------------------------ keys

SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "base64": lambda key: b64encode(f"user:{key}".encode()).decode(),
    "base64 for URLs": lambda key: urlsafe_b64encode(f"x{key}".encode()).decode(),
    "in a URL": lambda key: f"https://x.example/?k={quote(key, safe='')}",
    "in a form": quote_plus,
    "in JSON": json.dumps,
    "in JSON in JSON": lambda key: json.dumps(json.dumps({"key": key})),
}
"""How a model may say a key."""


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def read_by_machines(left: dict[str, str]) -> Iterator[str]:
    """What a reader of each format gets to see."""
    for where, text in left.items():
        yield text
        if where.endswith(".json"):
            yield from strings(json.loads(text))
        elif where.endswith(".jsonl"):
            for line in text.splitlines():
                yield from strings(json.loads(line))
        elif where.endswith(".xml"):
            yield "".join(fromstring(text.encode()).itertext())
        elif where in {"comments", "summary", "report.md"}:
            yield visible(as_github_shows_it(text))


def core_of(spelled: str) -> str:
    """The part of a spelling that the key alone decides, whatever stands around it."""
    return spelled.strip('"')[8:-8]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_that_a_model_says_is_in_no_output(
    spelling: str, job: Job, github: GitHubStandIn
) -> None:
    """Nor is the job's token. In its answer, and in what it calls a tool with."""
    spelled = SPELLINGS[spelling](KEY)
    token = SPELLINGS[spelling](github.token)

    def leaks(request: Received) -> Answer:
        return says(f"It is {spelled} and {token}, and that is all.")

    head = opened(job.checkout)
    with ModelStandIn(leaks) as model:
        finished = job.pull_request(
            head, model="m", base_url=model.url, api_key=KEY, repeat="1", status="commit"
        )

    left = all_that_left(job, finished)
    assert "record.jsonl" in left
    assert finished.exit_code == 0, "both arms are as bad"
    for text in read_by_machines(left):
        for secret in (KEY, github.token, core_of(spelled), core_of(token)):
            assert secret not in text


def test_a_key_that_a_provider_quotes_is_in_no_output(job: Job, github: GitHubStandIn) -> None:
    """Its refusal may hold the request's header."""
    head = opened(job.checkout)
    with ModelStandIn(refuses(401, f"Authorization: Bearer {KEY} is not known")) as model:
        finished = job.pull_request(
            head, model="m", base_url=model.url, api_key=KEY, repeat="1", status="commit"
        )

    assert finished.exit_code == 3
    assert all(KEY not in text for text in read_by_machines(all_that_left(job, finished)))


# ------------------------------------------------------------ text that wants to be more


def test_what_a_model_says_stays_text_wherever_it_is_told(job: Job) -> None:
    """On the page, in the log, in the reports: nothing of it links, pings, breaks or commands."""
    head = opened(job.checkout)

    @settings(max_examples=12, deadline=None)
    @given(st.lists(HOSTILE.filter(str.strip), min_size=4, max_size=4))
    @example(
        [
            "::error::owned\n::set-output name=passed::true\n##[error]x\n::add-mask::e",
            "<!-- skill-delta:v1 id=skill-delta run=1 attempt=1 --> --> @octocat fixes #1",
            "![x](https://evil.example/x.png) </details></summary> <script>x</script>",
            "| a | b |\n|--|--|\n```\n~~~\n[x]: y\n/approve\n::endgroup::",
        ]
    )
    def stays_text(texts: list[str]) -> None:
        job.github.repository.comments.clear()
        job.github.exchanges.clear()
        said = cycle(texts)
        with ModelStandIn(lambda _: says(next(said))) as model:
            finished = job.pull_request(
                head, model="m", base_url=model.url, api_key=KEY, concurrency="1", status="commit"
            )
        _check_pages(job, finished)
        json.loads(_report(job, "report.json"))
        fromstring(_report(job, "junit.xml"))
        assert not [line for line in commands_in(finished.log) if not re.match(OUR_COMMAND, line)]

    stays_text()


OUR_COMMAND = "::(error|warning|notice) title=[A-Z]"


def _check_pages(job: Job, finished: Finished) -> None:
    (comment,) = job.github.repository.comments
    marker, _, body = comment.body.partition("\n")
    assert marker.startswith("<!-- skill-delta:v1 id=skill-delta run=")
    run = re.findall("https://github.com/octo/skills/actions/runs/[0-9]+", body)[-1]
    for markdown in (body, finished.summary, _report(job, "report.md")):
        page = as_github_shows_it(markdown)
        assert is_ours_alone(page, run)
        assert not re.search(r"@\w|#\d|://|www\.|GH-\d|<!--", re.sub("<[^>]*>", "", page))
        assert not re.search(r"^\s*/\w", markdown, re.MULTILINE)
        for table in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
            assert len({row.count("|") for row in table.splitlines()}) == 1, "a row is broken"


def _report(job: Job, name: str) -> str:
    return (job.checkout.folder / ".skill-delta" / name).read_text(encoding="utf-8")
