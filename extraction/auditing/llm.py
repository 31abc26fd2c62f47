"""The auditor that asks a language model, once per batch. What it answers is checked; the guards have the last word on "same"."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from extraction.exploring.features import AUDITOR
from extraction.llm.choice import ModelChoice, choose
from extraction.workers import WorkerReport, WorkerUnavailable

from .guards import veto
from .llm_prompt import LONGEST_REASON, SCHEMA, TOOL, Asked, ask, instructions
from .model import Claim, Decision, GraphView, Nominee, Outcome, Question, State
from .nearness import is_later, judge, same_as
from .reading import read

logger = logging.getLogger(__name__)


class LlmAuditor:
    """Asks the default model. Whatever it does not answer, or must not, the deterministic auditor decides; how often, and
    why, stands in the reasons and in ``report``.
    """

    name = "llm"
    agent = AUDITOR

    def __init__(self) -> None:
        self.report = WorkerReport()
        self._choice: ModelChoice | None = None
        self._missing = ""
        try:
            self._choice = choose()
            self.report.model = self._choice.snapshot()
        except WorkerUnavailable as error:
            self._missing = str(error)

    def decide(self, questions: Sequence[Question], view: GraphView) -> list[Decision]:
        asked_for = [question for question in questions if question.nominees]
        if not asked_for:
            return [judge(question.claim, question.nominees) for question in questions]
        asked = ask(questions, view)
        answers, trouble = self._ask(asked)
        return [
            self._decide(question, answers.get(index), asked.offered[index], trouble)
            for index, question in enumerate(questions)
        ]

    def _ask(self, asked: Asked) -> tuple[dict[int, Mapping[str, Any]], str]:
        """Answers by index of the claim, and what went wrong with the whole question, if anything did."""
        if self._choice is None:
            return {}, self._missing
        try:
            endpoint = self._choice.endpoint()
        except WorkerUnavailable as error:
            return {}, str(error)
        from .llm_call import call  # loads the agent library, which takes a second

        limits = self._choice.batch_limits()
        given, trouble = asyncio.run(
            call(endpoint, limits, instructions(), asked.text, TOOL, SCHEMA, self.report.usage)
        )
        self.report.cost = self._choice.prices.cost(self.report.usage)
        if trouble:
            logger.warning("The auditor's model gave no answer, the deterministic auditor decides: %s", trouble)
        return self._sorted(given, asked), trouble

    def _sorted(self, given: Any, asked: Asked) -> dict[int, Mapping[str, Any]]:
        answers: dict[int, Mapping[str, Any]] = {}
        decisions = given.get("decisions") if isinstance(given, dict) else None
        for one in decisions if isinstance(decisions, list) else []:
            index = asked.claims.get(str(one.get("claim"))) if isinstance(one, dict) else None
            if index is None or index in answers:
                self.report.usage["refusals"] += 1
            else:
                answers[index] = one
        return answers

    def _decide(
        self, question: Question, answer: Mapping[str, Any] | None, offered: Mapping[str, Nominee], trouble: str
    ) -> Decision:
        by_rule = judge(question.claim, question.nominees)
        known = any(one.identity and one.identity == question.claim.identity for one in question.nominees)
        if known or by_rule.outcome == Outcome.DISCARD or not question.nominees:
            return by_rule  # the same words, or what must not come back: nothing to ask
        decision, refused = (
            (None, trouble or "it said nothing") if answer is None else _checked(question, answer, offered)
        )
        if decision is not None:
            return decision
        if answer is not None:
            self.report.usage["refusals"] += 1
        self.report.usage["fallbacks"] += 1
        return _because(by_rule, f"not decided by the model, {refused}"[:LONGEST_REASON])


def _because(decision: Decision, why: str) -> Decision:
    return replace(decision, reason=f"{decision.reason} ({why})")


def _checked(
    question: Question, answer: Mapping[str, Any], offered: Mapping[str, Nominee]
) -> tuple[Decision | None, str]:
    """The decision that an answer stands for, or why there is none."""
    outcome, named = answer.get("outcome"), answer.get("target")
    reason = " ".join(str(answer.get("reason") or "").split())[:LONGEST_REASON] or "the model gave no reason"
    if outcome == Outcome.NEW:
        return Decision(Outcome.NEW, reason), ""
    if outcome == Outcome.DISCARD:
        return (
            (Decision(Outcome.DISCARD, reason), "") if answer.get("reason") else (None, "it discards without a reason")
        )
    if outcome not in (Outcome.SAME, Outcome.SUPERSEDES, Outcome.CONTRADICTS):
        return None, f"it answered {str(outcome)[:40]!r}"
    target = offered.get(str(named))
    if target is None:
        return None, f"it named {str(named)[:40]!r}, which was not offered"
    if outcome == Outcome.SAME:
        return _same(question, target, reason)
    return _apart(question.claim, outcome, target, reason)


def _same(question: Question, target: Nominee, reason: str) -> tuple[Decision | None, str]:
    claim = question.claim
    stopped = veto(read(claim.text), read(target.text))
    if stopped is None and claim.kind != target.kind:
        stopped = f"kind: {claim.kind} against {target.kind}"
    if stopped is not None:
        return None, f"it said the same, but {stopped}"
    return same_as(claim, target, question.nominees, reason), ""


def _apart(claim: Claim, outcome: str, target: Nominee, reason: str) -> tuple[Decision | None, str]:
    if target.state != State.LIVE:
        return None, f"it named a proposition that is {target.state}"
    if outcome == Outcome.SUPERSEDES and not is_later(claim.said_at, target.said_at):
        return Decision(Outcome.NEW, f"new, but said before what replaces it: {reason}", replaced_by=target.id), ""
    return Decision(outcome, reason, target=target.id), ""
