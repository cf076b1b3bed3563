"""Situations about what is checked: the answer, the tools that were called, what it cost."""

from __future__ import annotations

from conformance.situation import Bars, Call, Reply, Situation, Story, model, skill_text
from git_repositories import GitRepository

LIBRARY = """\
tools:
  - name: lookup_order
    description: What is known of an order.
    parameters: {order_id: string}
    returns: '{"status": "delivered"}'
  - name: issue_refund
    description: Refunds an order.
    input_schema:
      type: object
      properties:
        order_id: {type: string}
        amount: {type: number}
        reason: {enum: [damaged, late]}
      required: [order_id]
    returns: refunded
"""

FIXED = """\
cases:
  - name: refunds
    task: Refund order 1234.
    tools:
      - name: lookup_order
        parameters: {order_id: string}
        returns: "paid"
      - name: issue_refund
        parameters: {order_id: string, amount: number, full: boolean}
      - name: delete_customer
    trajectory:
      called: [lookup_order, issue_refund]
      forbidden: [delete_customer]
      order: [lookup_order, issue_refund]
      max_calls: 2
      call_args:
        - {tool: lookup_order, equals: {order_id: "1234"}}
        - {tool: issue_refund, contains: {order_id: "1234", full: true}}
        - {tool: issue_refund, contains: {amount: 20}}
"""
LOOK = Call("lookup_order", {"order_id": "1234"})
REFUND = Call("issue_refund", {"order_id": "1234", "amount": 20.0, "full": True})
ALMOST = Call("issue_refund", {"order_id": 1234, "amount": 20.5, "full": 1})

SEQUENCE = """\
cases:
  - name: polls
    task: Tell me when order 1234 has arrived.
    tools:
      - name: track
        parameters: {order_id: string}
        returns: [packed, shipped, delivered]
      - name: notify
        returns: [""]
    trajectory:
      order: [track, track, track, notify]
      max_calls: 5
      call_args:
        - {tool: track, contains: {order_id: "1234"}, every: true}
        - {tool: notify, equals: {}}
"""
TRACK = Call("track", {"order_id": "1234"})

LOOKUP = """\
cases:
  - name: compares
    task: Which of my orders is late?
    tools:
      - name: search
        input_schema: {type: object, properties: {filter: {type: object}}}
        returns:
          - when: {filter: {status: late, tags: [a, b]}}
            value: "order 77"
          - when: {filter: {status: late}}
            value: "orders 77 and 78"
          - when: {limit: 1}
            value: "order 78"
      - name: lookup_order
        parameters: {order_id: string}
        returns:
          - when: {order_id: "77"}
            value: "late"
          - value: "on time"
    trajectory:
      called: [search]
      call_args:
        - tool: search
          contains: {filter: {status: late}}
        - tool: lookup_order
          contains: {order_id: "77"}
          every: true
"""
SEARCHES = (
    Call("search", {"filter": {"status": "late", "tags": ["a", "b"], "more": None}}),
    Call("search", {"filter": {"status": "late", "tags": ["b", "a"]}}),
    Call("search", {"limit": 1.0}),
    Call("search", {"limit": True}),
    Call("search", {"filter": "late"}),
)

SHARED = """\
tool_libraries: [../../shared/orders.yaml]
cases:
  - name: refunds
    task: Refund order 1234.
    tools:
      - ref: lookup_order
        returns: ["paid", "refunded"]
      - ref: issue_refund
    trajectory:
      order: [lookup_order, issue_refund, lookup_order]
      call_args:
        - {tool: issue_refund, equals: {order_id: "1234", reason: late}}
"""

OFFERED = """\
cases:
  - name: reaches
    task: I want my money back for order 1234.
    mode: offered
    tools:
      - name: lookup_order
        parameters: {order_id: string}
        returns: paid
    trajectory: {skill_triggered: true, called: [lookup_order], max_calls: 2}
  - name: leaves alone
    task: What is the capital of Egypt?
    mode: offered
    trajectory: {skill_triggered: false}
    assertions:
      - {kind: equals, value: Cairo}
"""

TEXTS = """\
cases:
  - name: answers
    task: Where is order 1234?
    assertions:
      - {kind: contains, value: "1234"}
      - {kind: not_contains, value: "!"}
      - {kind: regex, value: '(?i)^order\\s+\\d{4} is (on its way|here)\\.?$'}
      - {kind: equals, value: "Order 1234 is here."}
  - name: answers as JSON
    task: Where is order 1234, as JSON?
    assertions:
      - kind: json-schema
        json_schema:
          type: object
          properties:
            order: {type: string, pattern: '^\\d+$'}
            late: {type: boolean}
          required: [order, late]
          additionalProperties: false
"""

BUDGETS = """\
cases:
  - name: is cheap
    task: Say hello.
    budget: {max_tokens: 110, max_cost_usd: 0.001, max_latency_ms: 500}
"""


def suite(evals: str) -> Story:
    """Two versions of a skill, with these cases and a library of tools beside it."""

    def story(repository: GitRepository) -> None:
        repository.commit({"skills/order-support/SKILL.md": skill_text("1.0")})
        repository.commit(
            {
                "skills/order-support/SKILL.md": skill_text("1.1", rules="Look it up first."),
                "skills/order-support/evals/cases.yaml": evals,
                "skills/shared/orders.yaml": LIBRARY,
            }
        )

    return story


def replies(text: str, *calls: Call, loads_skill: bool = False) -> list[Reply]:
    """One reply; the more calls it makes, the more it costs."""
    turns = 1 + len(calls)
    return [Reply(text, calls, loads_skill, 90 * turns, 20, 0.001 * turns, 500 * turns)]


def costs(tokens: int, dollars: float, milliseconds: int) -> Reply:
    return Reply("Hello.", (), False, tokens - 10, 10, dollars, milliseconds)


SITUATIONS = (
    Situation(
        "mock tools that always answer alike",
        suite(FIXED),
        model({"refunds": replies("done", LOOK, REFUND)}, {"refunds": replies("done", REFUND)}),
        bars=Bars(min_delta=1.0),
    ),
    Situation(
        "arguments that are nearly the wanted ones",
        suite(FIXED),
        model(
            {"refunds": replies("done", LOOK, ALMOST)},
            {"refunds": replies("done", LOOK, Call("delete_customer"), REFUND)},
        ),
    ),
    Situation(
        "mock tools that answer call by call",
        suite(SEQUENCE),
        model(
            {"polls": replies("here", TRACK, TRACK, TRACK, TRACK, Call("notify"))},
            {"polls": replies("here", TRACK, Call("notify"), Call("track", {"order_id": "1"}))},
        ),
    ),
    Situation(
        "mock tools that answer by argument, or not at all",
        suite(LOOKUP),
        model(
            {"compares": replies("77", *SEARCHES, Call("lookup_order", {"order_id": "77"}))},
            {
                "compares": replies(
                    "78",
                    Call("lookup_order", {"order_id": "77"}),
                    Call("lookup_order", {"order_id": "78"}),
                )
            },
        ),
    ),
    Situation(
        "mock tools from a library",
        suite(SHARED),
        model(
            {
                "refunds": replies(
                    "done",
                    LOOK,
                    Call("issue_refund", {"order_id": "1234", "reason": "late"}),
                    LOOK,
                )
            },
            {
                "refunds": replies(
                    "done", LOOK, Call("issue_refund", {"order_id": "1234", "amount": 1}), LOOK
                )
            },
        ),
    ),
    Situation(
        "reaching for an offered skill is a call",
        suite(OFFERED),
        model(
            {
                "reaches": replies("done", LOOK, loads_skill=True),
                "leaves alone": replies("\n Cairo\n"),
            },
            {
                "reaches": replies("done", LOOK, LOOK, loads_skill=True),
                "leaves alone": replies("Cairo", loads_skill=True),
            },
        ),
    ),
    Situation(
        "every check of an answer",
        suite(TEXTS),
        model(
            {
                "answers": replies("Order 1234 is here.\n"),
                "answers as JSON": replies('{"order": "1234", "late": false}'),
            },
            {
                "answers": replies("Order 1234 is late!"),
                "answers as JSON": replies('{"order": 1234, "late": "no", "why": null}'),
            },
        ),
    ),
    Situation(
        "an answer that is not JSON, and one that is empty",
        suite(TEXTS),
        model(
            {"answers": replies(""), "answers as JSON": replies("```json\n{}\n```")},
            {"answers": replies("ORDER  1234 is on its way"), "answers as JSON": replies("[]")},
        ),
    ),
    Situation(
        "budgets that are just kept and just not",
        suite(BUDGETS),
        model(
            {"is cheap": [costs(110, 0.001, 500), costs(111, 0.001, 500)]},
            {"is cheap": [costs(110, 0.0011, 500), costs(110, 0.001, 501)]},
        ),
        repeat=2,
    ),
)
