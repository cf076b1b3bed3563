"""Which endpoint is asked by whom, and with whose key."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from pydantic import SecretStr

from skill_delta.errors import ServiceError, UserError
from skill_delta.providers import JUDGE_KEY_VARIABLE, OUR_KEY_VARIABLE, PROVIDERS, Vendor
from skill_delta.render.redaction import Redactor
from skill_delta.runners.judge import ModelJudge
from skill_delta.runners.model import ModelRunner

if TYPE_CHECKING:
    from skill_delta.ports import Judge, Model, Runner
    from skill_delta.settings.model import Settings
    from skill_delta.wiring.grounds import Grounds
    from skill_delta.wiring.keys import Keys


@dataclass(frozen=True, slots=True)
class _Asked:
    """A model at an endpoint. `our_variable` is where the one who asks it has a key of his own."""

    vendor: Vendor
    model: str
    url: str
    key: str | None
    our_variable: str


def asking_runner(name: str, settings: Settings, keys: Keys, grounds: Grounds) -> Runner:
    """A runner that asks a model. Raises `ServiceError` where there is no key to ask it with."""
    vendor, model = PROVIDERS[name], settings.model_of(name)
    if keys.runner is None and settings.base_url is None:
        raise ServiceError(
            f"there is no API key for runner '{name}': set {OUR_KEY_VARIABLE} "
            f"or {vendor.key_variable}, or name another endpoint with --base-url"
        )
    url = settings.base_url or vendor.base_url
    asked = _Asked(vendor, model, url, keys.runner, OUR_KEY_VARIABLE)
    return ModelRunner(
        name,
        _model_at(asked, settings, keys),
        costs_money=True,
        model_name=model,
        workspaces=grounds.workspaces,
        scripts=grounds.scripts,
    )


def asking_judge(settings: Settings, keys: Keys) -> Judge:
    """A judge that asks a model: its own, at its own endpoint, else its namesake runner's.

    The runner's key goes with it only to the server that the runner asks: no other is shown it.
    Raises `UserError` where no model is named, `ServiceError` where there is no key to ask it with.
    """
    name, model = settings.judge_name, settings.judging_model
    vendor, others = PROVIDERS[name], settings.asking_runners
    if not model:
        raise UserError(
            "a case has a rubric, and the judge needs a model",
            hint="name one with --judge-model, as the provider spells it",
        )
    is_the_runners = name in others or not others
    runners_url = (settings.base_url if is_the_runners else None) or vendor.base_url
    url = settings.judge_base_url or runners_url
    shares_key = is_the_runners and _is_one_place(url, runners_url)
    key = keys.judge or (keys.runner if shares_key else None)
    if key is None and _is_one_place(url, vendor.base_url):
        raise ServiceError(
            f"there is no API key for the judge: set {JUDGE_KEY_VARIABLE}, "
            "or name another endpoint with --judge-base-url"
        )
    asked = _Asked(vendor, model, url, key, JUDGE_KEY_VARIABLE)
    return ModelJudge(settings.judged_by, _model_at(asked, settings, keys))


def redactor_for(settings: Settings, keys: Keys, *secrets: str | None) -> Redactor:
    """Takes out the keys, and what a base URL holds of a user, a password or a query."""
    of_urls: list[str] = []
    for url in filter(None, (settings.base_url, settings.judge_base_url)):
        from skill_delta.providers.endpoint import secrets_of  # noqa: PLC0415 - httpx takes 0.1 s

        of_urls += secrets_of(url)
    return Redactor([*keys.given, *filter(None, secrets), *of_urls])


def _is_one_place(url: str, other: str) -> bool:
    """Whether both are of one server. A URL that cannot be read is of none."""
    import httpx  # noqa: PLC0415 - takes 0.1 s

    try:
        first, second = httpx.URL(url.strip()), httpx.URL(other.strip())
    except (httpx.InvalidURL, UnicodeError):
        return False
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port)


def _model_at(asked: _Asked, settings: Settings, keys: Keys) -> Model:
    from skill_delta.providers.http import HttpModel  # noqa: PLC0415 - httpx takes 0.1 s
    from skill_delta.providers.prices import is_priced, price_of  # noqa: PLC0415

    key = SecretStr(asked.key) if asked.key else None
    api = asked.vendor.api(asked.url, asked.model, key, our_variable=asked.our_variable)
    endpoint = str(api.endpoint.url)
    # Asked in any case: the price list loads here, not while the first answer's time is taken.
    priced = is_priced(asked.model, endpoint)
    if settings.max_cost is not None and not priced:
        raise UserError(
            f"--max-cost cannot be kept: no price is known for model '{asked.model}' at this "
            "endpoint",
            hint="limit the run with --max-tokens or --max-time instead",
        )
    return HttpModel(
        api,
        price=lambda usage: price_of(asked.model, endpoint, usage),
        workers=settings.concurrency,
        rng=Random(settings.seed),  # noqa: S311 - spreads retries
        redact=redactor_for(settings, keys).redact_known,
    )
