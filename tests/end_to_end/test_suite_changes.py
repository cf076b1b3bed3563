"""What a pull request does to its own judge: cases, their selection, the bars set by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from command_line import CommandLine, Finished
from git_repositories import GitRepository, skill
from github_job import Job
from github_stand_in import GitHubStandIn
from pull_requests import merged_by_github, on_branch

KIND, CURT = "Be kind.\nSay please.\nName the order.", "Be curt.\nSay please.\nName the order."
POLITE = """\
  - name: is polite
    task: Where is my order?
    tags: [smoke]
    assertions:
      - {kind: icontains, value: please}
"""
NAMED = """\
  - name: names the order
    task: Where is my order 1234?
    tags: [smoke]
    assertions:
      - {kind: contains, value: "1234"}
"""
CASES = f"cases:\n{NAMED}{POLITE}"
REPLIES = """\
replies:
  - contains: Be curt
    text: "1234: shipped."
  - text: "Please wait: order 1234 was shipped."
"""
Files = Mapping[str, str]


def orders(
    body: str = KIND,
    *,
    name: str = "orders",
    version: str = "1.0.0",
    cases: str = CASES,
    folder: str = "orders",
) -> Files:
    """The files of the skill."""
    return {
        f"skills/{folder}/SKILL.md": skill(body, version=version, name=name),
        f"skills/{folder}/evals/orders.yaml": cases,
        f"skills/{folder}/evals/replies.yaml": REPLIES,
    }


@pytest.fixture(autouse=True)
def _main(repository: GitRepository) -> None:
    repository.commit(orders())


@pytest.fixture
def check(repository: GitRepository, skill_delta: CommandLine) -> Check:
    return Check(repository, skill_delta)


class Check:
    """`pr` on a branch that has these files in place of the skill's."""

    def __init__(self, repository: GitRepository, skill_delta: CommandLine) -> None:
        self.repository = repository
        self._skill_delta = skill_delta

    def __call__(self, files: Files, *flags: str) -> Finished:
        on_branch(self.repository, "topic")
        self.repository.git("rm", "--quiet", "-r", "skills")
        self.repository.commit(files)
        return self.again(*flags)

    def again(self, *flags: str) -> Finished:
        """The same pull request, asked otherwise."""
        return self._skill_delta("pr", "--base", "main", "--runner", "scripted", *flags)

    def configure(self, config: str) -> None:
        """What the base commit has as its config."""
        self.repository.commit({".github/skill-delta.yml": config})


def heading(finished: Finished) -> str:
    return finished.out.splitlines()[0]


def first_reason(finished: Finished) -> str:
    return finished.out.splitlines()[2]


# ---------------------------------------------------------------- cases that went


def test_a_pull_request_without_its_failing_case_is_no_plain_pass(check: Check) -> None:
    """Green by exit code, and the first thing that anybody reads is that a case is gone."""
    finished = check(orders(CURT, version="1.1.0", cases=f"cases:\n{NAMED}"))

    assert finished.exit_code == 0
    assert heading(finished) == "### ⚠️ skill-delta: no regression shown, but 1 case removed"
    assert 'the pull request removes 1 case: "is polite"' in first_reason(finished)
    assert "left as they were" not in finished.out
    assert check.again("--suite", "base").exit_code == 1


def test_the_check_and_its_log_say_it_as_well(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever reads no comment sees it beside the commit."""
    on_branch(repository, "topic")
    head = repository.commit(orders(CURT, version="1.1.0", cases=f"cases:\n{NAMED}"))
    merged_by_github(repository)
    job = Job(repository, github, tmp_path / "runner", capsys, monkeypatch)

    finished = job.pull_request(head, runner="scripted", status="commit")

    words = "No regression shown, but 1 case removed: "
    assert finished.exit_code == 0
    assert (github.repository.statuses[-1].description or "").startswith(words)
    assert words.strip() in finished.log
    assert github.repository.comments[0].body.splitlines()[1] == (
        "### ⚠️ skill-delta: no regression shown, but 1 case removed"
    )


def test_a_pass_by_fewer_cases_is_no_tick(check: Check) -> None:
    """The gate passed by what was left."""
    finished = check(
        orders(CURT, version="1.1.0", cases=f"cases:\n{NAMED}"), "--gate", "point", "--repeat", "2"
    )

    assert finished.exit_code == 0
    assert heading(finished) == "### ⚠️ skill-delta: gate passed, but 1 case removed"
    assert "judges by those of the base" in finished.out


def test_a_loosened_copy_in_place_of_a_case_is_a_removal(check: Check) -> None:
    """Under whatever name it comes back."""
    loose = POLITE.replace("is polite", "is polite enough").replace("please", "shipped")
    finished = check(orders(CURT, version="1.1.0", cases=f"cases:\n{NAMED}{loose}"))

    assert "1 case removed" in heading(finished)
    assert '"is polite"' in first_reason(finished)


def test_a_second_case_of_the_name_shadows_none(check: Check) -> None:
    """Names are unique in a skill, over all of its files."""
    loose = f"cases:\n{POLITE.replace('please', 'shipped')}"
    files = {**orders(CURT, version="1.1.0"), "skills/orders/evals/a.yaml": loose}

    finished = check(files)

    assert finished.exit_code == 2
    assert "already taken" in finished.all


# ---------------------------------------------------------------- cases that are not selected


@pytest.mark.parametrize(
    ("flags", "cases", "told"),
    [
        (
            ("--tag", "smoke"),
            CASES.replace(POLITE, POLITE.replace("    tags: [smoke]\n", "")),
            'no longer selected by tag smoke: "is polite"',
        ),
        (
            ("--tag", "smoke", "--tag", "all"),
            CASES.replace(POLITE, POLITE.replace("smoke", "slow")),
            'no longer selected by tag smoke or all: "is polite"',
        ),
        (
            ("--case", "order", "--case", "polite"),
            CASES.replace("is polite", "has manners"),
            'no longer selected by case order or polite: "is polite" (now "has manners")',
        ),
    ],
)
def test_a_case_that_is_no_longer_selected_is_told_like_a_removed_one(
    flags: tuple[str, ...], cases: str, told: str, check: Check
) -> None:
    """A tag or a name is all that it takes, and the base's cases still judge by it."""
    finished = check(orders(CURT, version="1.1.0", cases=cases), *flags)

    assert finished.exit_code == 0
    assert heading(finished) == "### ⚠️ skill-delta: no regression shown, but 1 case deselected"
    assert told in first_reason(finished).replace("\\", "")
    assert check.again("--suite", "base", *flags).exit_code == 1


def test_a_selection_that_never_took_a_case_misses_none(check: Check) -> None:
    """Renaming or untagging what the run does not take changes nothing of it."""
    cases = CASES.replace(NAMED, NAMED.replace("[smoke]", "[slow]"))

    finished = check(orders(version="1.1.0", cases=cases), "--case", "polite")

    assert "deselected" not in finished.out


def test_cases_pushed_out_by_new_ones_are_named_and_no_pass(check: Check) -> None:
    """`max-cases` takes the first ones: whoever puts others in front of a case does not pass."""
    easy = "".join(
        f"  - name: easy {n}\n    task: Order 1234?\n    assertions:\n"
        '      - {kind: contains, value: "1234"}\n'
        for n in range(2)
    )
    finished = check(
        orders(CURT, version="1.1.0", cases=f"cases:\n{easy}{NAMED}{POLITE}"),
        *("--max-cases", "2", "--on-unmeasured", "pass"),
    )

    assert finished.exit_code == 3
    assert 'max-cases is 2: "names the order", "is polite"' in finished.out
    assert check.again("--suite", "base", "--max-cases", "2").exit_code == 1


# ---------------------------------------------------------------- cases that ask otherwise


def test_a_case_that_asks_something_else_is_named_without_a_judgement(check: Check) -> None:
    """Nobody can tell whether it became easier: it stands below, and the pass is a pass."""
    cases = CASES.replace("Where is my order?", "Please tell me where my order is.")

    finished = check(orders(version="1.1.0", cases=cases), "--gate", "point")

    assert heading(finished) == "### ✅ skill-delta: gate passed"
    assert 'changes what the case "is polite" asks: its task' in finished.out


# ---------------------------------------------------------------- bars by name

BARRED = [
    "per-skill-min: {orders: 1.0}",
    "per-skill: {orders: {min-pass-rate: 1.0}}",
    "per-skill: {orders: {min-delta: 0.0}}",
    'per-skill-min: {"orders (skills/orders)": 1.0}',
    "per-skill: {orders: {min-delta: 0.0}, sales: {min-delta: -1.0}}",
]
OTHERWISE = {
    "renamed": orders(CURT, name="sales", version="1.1.0"),
    "moved": orders(CURT, folder="sales", version="1.1.0"),
    "renamed and moved": orders(CURT, name="sales", folder="sales", version="1.1.0"),
}


@pytest.mark.parametrize("way", OTHERWISE)
@pytest.mark.parametrize("config", BARRED)
def test_a_bar_holds_under_whatever_name(config: str, way: str, check: Check) -> None:
    """A skill is what the base calls it, too; by the lower of two bars it does not get around."""
    check.configure(f"{config}\nmin-delta: -1\ngate: point\n")

    assert check(OTHERWISE[way]).exit_code == 1


def test_a_looser_bar_is_no_way_out_for_a_skill_that_takes_its_name(check: Check) -> None:
    """It was granted to the skill that has the name at the base, and to no other."""
    check.configure("per-skill: {sales: {min-delta: -1.0}}\nmin-delta: 0\ngate: point\n")

    assert check(OTHERWISE["renamed"]).exit_code == 1


def test_nor_for_a_new_skill(check: Check) -> None:
    """The bar against no skill is asked of it whatever it is called."""
    bars = "min-delta: {previous: 0, none: 0.1}\ngate: point\n"
    check.configure(f"per-skill: {{sales: {{min-delta: -1.0}}}}\n{bars}")
    new = orders("No help.", name="sales", folder="sales")

    assert check({**orders(), **new}).exit_code == 1


def test_a_looser_bar_goes_with_its_skill(check: Check) -> None:
    """Renamed, it is the same skill, and what was granted to it still is."""
    check.configure("per-skill: {orders: {min-delta: -1.0}}\nmin-delta: 0\ngate: interval\n")

    assert check(OTHERWISE["renamed"]).exit_code == 0


def test_the_bar_of_the_new_name_is_not_lowered_by_the_old_one(check: Check) -> None:
    """Of two the higher one holds, whichever of the names it is set for."""
    check.configure("per-skill-min: {orders: 0.1, sales: 1.0}\nmin-delta: -1\ngate: point\n")

    assert check(OTHERWISE["renamed"]).exit_code == 1


def test_a_bar_may_name_the_folder_too(check: Check) -> None:
    """As reports do where two skills share a name, and also where the run has only one of them."""
    check.configure('per-skill-min: {"news (skills/news)": 1.0}\n')
    new = orders(CURT, name="news", folder="news")

    assert check({**orders(), **new}).exit_code == 1


def test_a_bar_that_holds_for_other_skills_of_the_name_is_not_lost(check: Check) -> None:
    """One skill is gone, and two of its name came."""
    check.configure("per-skill-min: {orders: 1.0}\nmin-delta: -1\ngate: point\n")
    text = "All is new:\nnobody waits."

    finished = check({**orders(text, folder="a"), **orders(CURT + text, folder="b")})

    assert finished.exit_code == 1
    assert "has a bar of its own" not in finished.out


def test_a_bar_that_holds_by_the_old_name_is_told(check: Check) -> None:
    """Whoever renamed the skill may not know of it."""
    check.configure("per-skill-min: {orders: 0.5}\n")

    finished = check(OTHERWISE["renamed"])

    assert "sales: called 'orders' at the base, whose bar holds for it" in finished.out


def test_a_copy_leaves_the_bar_where_it_is(check: Check) -> None:
    """The copy is a new skill; the other one is what it was."""
    check.configure("per-skill-min: {orders: 1.0}\n")
    copy = orders(CURT, name="sales", folder="sales")

    finished = check({**orders(), **copy})

    assert finished.exit_code == 0
    assert "has a bar of its own" not in finished.out


REWRITTEN = orders("All is new:\nnobody waits.", name="sales", folder="sales", version="2.0.0")


def test_a_bar_that_may_be_got_around_is_no_pass(check: Check) -> None:
    """A skill is gone and another one came, and nothing tells whether it is the same."""
    check.configure("per-skill-min: {orders: 1.0}\n")

    finished = check(REWRITTEN)

    assert heading(finished) == "### ⚠️ skill-delta: inconclusive"
    assert "skill 'orders' has a bar of its own and is gone, and new is skills/sales" in (
        finished.out
    )
    assert finished.exit_code == 0
    strict = check.again("--on-inconclusive", "fail", "--repeat", "10", "--max-repeat", "30")
    assert strict.exit_code == 3


def test_removing_a_skill_that_has_a_bar_is_told(check: Check) -> None:
    """It may go, but not unseen."""
    check.configure("per-skill-min: {orders: 1.0}\n")

    finished = check({"README.md": "No skill."})

    assert finished.exit_code == 0
    assert "orders: it has a bar of its own and is removed" in finished.out


# ---------------------------------------------------------------- moved skills, broken files


@pytest.mark.parametrize("way", OTHERWISE)
def test_what_a_moved_skill_lost_is_found(way: str, check: Check) -> None:
    """Its cases are held against those of the folder where the base has it."""
    files = {name: text.replace(POLITE, "") for name, text in OTHERWISE[way].items()}

    finished = check(files)

    assert "but 1 case removed" in heading(finished)
    assert check.again("--suite", "base").exit_code == 1


def broken_at_the_base(repository: GitRepository) -> str:
    return repository.commit(
        {"skills/orders/evals/orders.yaml": CASES.replace("assertions", "assertion")}
    )


def test_a_head_that_puts_broken_cases_right_is_measured(check: Check) -> None:
    """What it does to them is unknown, and said to be."""
    base = broken_at_the_base(check.repository)

    finished = check(orders(version="1.1.0"), "--gate", "point")

    assert finished.exit_code == 0
    assert "what the pull request does to its cases is unknown" in finished.out
    told = finished.out.replace("&#8203;", "").replace("\\", "")
    assert f"orders.yaml:5:5: cases[0].assertion at the base commit {base[:8]}: there is no" in told


def test_broken_cases_of_the_base_are_told_as_the_bases(check: Check) -> None:
    """Where they are to judge there is nothing to judge by, and the head is not to blame."""
    base = broken_at_the_base(check.repository)

    finished = check(orders(version="1.1.0"), "--suite", "base")

    assert finished.exit_code == 2
    assert f"the cases of the base commit {base[:8]} are to judge" in finished.all
    assert f"at the base commit {base[:8]}: " in finished.all
    assert "skills/orders/evals/orders.yaml:5" in finished.all


def test_a_name_cannot_make_the_bases_cases_unreadable(check: Check) -> None:
    """A tool of theirs may be called what the head calls the skill."""
    tool = "    mode: offered\n    tools: [{name: sales, description: Sells., returns: Sold.}]\n"
    offered = CASES.replace(POLITE, POLITE + tool)
    check.repository.commit(orders(cases=offered))

    files = orders(KIND, name="sales", version="1.1.0", cases=f"cases:\n{NAMED}")
    finished = check(files)
    by_the_base = check.again("--suite", "base")

    assert "but 1 case removed" in heading(finished)
    assert by_the_base.exit_code == 2
    assert "under which the skill" in by_the_base.all


def test_without_a_key_the_local_check_ends_as_the_action_does(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`on-unmeasured: pass` lets it through, and says that nothing was measured."""
    for name in ("SKILL_DELTA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = ("--runner", "openai", "--model", "gpt-test")

    assert check(orders(CURT, version="1.1.0"), *model).exit_code == 3
    forgiven = check.again(*model, "--on-unmeasured", "pass")

    assert forgiven.exit_code == 0
    assert "not measured: there is no API key" in forgiven.err
