"""`manage.py demo`: the whole loop on the sample chats and documents."""

from typing import Any

from coverage.words import counted
from graphctx.embedding import EmbeddingError
from osii.console import Command as OsiiCommand
from osii.demo import run_demo


class Command(OsiiCommand):
    help = (
        "Run the main job on the sample chats and documents: import, extract, report, add documents, promote a version, "
        "process them, ask what the learner knows about a topic, and search. A second run finds nothing to do and says so."
    )

    def run(self, **options: Any) -> None:
        try:
            data = run_demo(self.note)
        except EmbeddingError as error:
            self.fail(str(error))
        self.result(data, _render)
        if data["imported"]["problems"] or data["extraction"]["failed_batches"] or data["processing"]["failed"]:
            self.fail("the demo met problems; they are in the report above")


def _render(data: dict[str, Any]) -> list[str]:
    return [
        *_chats(data),
        *_extraction(data),
        *_propositions(data),
        *_documents(data["documents"]),
        *_processing(data["processing"]),
        *_context(data["context"]),
        *_search(data["search"]),
        "",
        *(["Everything was there already: this run changed nothing.", ""] if data["nothing_to_do"] else []),
        "Next: `make run` opens the dashboard on these chats; `.venv/bin/python manage.py help` lists the commands.",
    ]


def _title(text: str) -> list[str]:
    return ["", text, "─" * len(text)]


def _chats(data: dict[str, Any]) -> list[str]:
    imported, before, after = data["imported"], data["coverage_before"], data["coverage_after"]
    return [
        *_title("Chats"),
        f"{imported['chats']} chats with {imported['messages']} messages, {imported['messages_added']} of them new.",
        *[f"  problem: {p['source']}, {p['position']}: {p['reason']}" for p in imported["problems"]],
        f"Coverage before: {_fraction(before)}",
        f"Coverage after:  {_fraction(after)}",
    ]


def _fraction(totals: dict[str, int]) -> str:
    total, covered = totals["total_tokens"], totals["covered_tokens"]
    return f"{covered:>6,} of {total:,} tokens read ({covered * 100 // total if total else 100} %)"


def _extraction(data: dict[str, Any]) -> list[str]:
    work = data["extraction"]
    lines = _title("Extraction")
    if not data["coverage_before"]["uncovered_tokens"]:
        return [*lines, "Nothing is uncovered: no batch was run and nothing was read again."]
    lines.append(
        f"{work['batches']} batches read {work['tokens_read']:,} tokens and staged {work['candidates_staged']} candidates: "
        f"{work['propositions_new']} new propositions, {work['propositions_known']} more evidence for known ones."
    )
    if work["batches_that_found_nothing"]:
        lines.append(
            f"{counted(work['batches_that_found_nothing'], 'batch', 'batches')} found nothing to keep, and said why."
        )
    if work["failed_batches"]:
        lines.append(
            f"{counted(work['failed_batches'], 'batch', 'batches')} failed; coverage_report shows which messages are parked."
        )
    return lines


def _propositions(data: dict[str, Any]) -> list[str]:
    propositions = data["propositions"]
    shown = len(propositions["examples"])
    lines = _title(f"Propositions ({shown} of {propositions['total']})")
    for example in propositions["examples"]:
        lines.append(f"• {example['text']}  [{example['kind'].replace('_', ' ')}]")
        for item in example["evidence"][:2]:
            level = f", {item['level'].replace('_', ' ')}" if item["level"] else ""
            where = f"{item['chat']}, message {item['position']}" if item["chat"] else item["document"]
            lines.append(f"    “{_short(item['quote'])}”")
            lines.append(f"    {item['speaker']}{level} — {where}")
    return lines


def _short(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _documents(library: dict[str, Any]) -> list[str]:
    lines = _title("Documents")
    for row in library["documents"]:
        if row.get("extraction_status") == "succeeded":
            when = "extracted" if row["extracted_now"] else "already extracted"
            lines.append(f"{row['file']}: {when}, {row['characters']:,} characters, primary {row['extraction_id']}")
            if row["replaces"]:
                lines.append(f"    the same path with new content: replaces {row['replaces'][:19]}…")
        else:
            lines.append(f"{row['file']}: failed: {row['error']}")
    moved = library["promoted"]
    if moved and moved["moved"]:
        lines.append(f"{moved['file']}: another version was saved beside it and promoted: {moved['primary_id']}")
        lines.append(f"    the version before is kept: {moved['before']}")
    elif moved:
        lines.append(f"{moved['file']}: version {moved['primary_id']} was promoted by an earlier run.")
    return lines


def _processing(work: dict[str, Any]) -> list[str]:
    lines = _title("Processing")
    if work["run"] is None:
        lines.append("Every output is current: no run was started and nothing was made again.")
    else:
        lines.append(f"Run {work['run']} {work['status']}:")
        for step in work["steps"]:
            told = [f"{step[name]} {name}" for name in ("succeeded", "current", "failed") if step[name]]
            told += [f"{count} blocked ({reason})" for reason, count in step["blocked"].items()]
            lines.append(f"  {step['step']:<12}  {step['method']:<12}  {', '.join(told)}")
    lines += [f"  failed: {one['file']}: {one['error']}" for one in work["failed"]]
    for row in work["results"]:
        claims = sum(row.get("claims", {}).values())
        told = [
            counted(row.get("chunks", 0), "chunk"),
            *([f"{counted(claims, 'claim')} read into the graph"] if claims else []),
        ]
        lines.append(f"{row['file']}: {', '.join(told)}; {', '.join(row.get('keywords', []))}")
        if row.get("summary"):
            lines.append(f"    “{_short(row['summary'])}”")
    return lines


def _search(found: dict[str, Any]) -> list[str]:
    lines = _title(f"Search in the documents: “{found['query']}”")
    lines += [f"({note})" for note in found["notes"]]
    for one in found["results"]:
        page = f", page {one['page']}" if one["page"] else ""
        lines.append(f"{one['score']:.4f}  {one['filename']}{page}, {one['char_start']}–{one['char_end']}")
        lines.append(f"    “{one['snippet']}”")
    return lines or ["Nothing was found."]


def _context(context: dict[str, Any]) -> list[str]:
    return [
        *_title(f"Context for a new chat: “{context['topic']}”"),
        f"{counted(context['count'], 'proposition')}, {context['tokens']:,} of {context['budget']:,} tokens",
        *[
            f"  {item['similarity']:.2f}  {item['tokens']:>3} tokens  {(item['level'] or 'no level').replace('_', ' '):<15}  {item['text']}"
            for item in context["items"]
        ],
        "",
        "The block as the assistant gets it:",
        "",
        *[f"    {line}" for line in context["block"].splitlines()],
    ]
