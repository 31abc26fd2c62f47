"""Everyday words of choices, wishes, limits and open points in German, French and Spanish, and what is muttered before them."""

import re
from dataclasses import replace

from extraction.claims.cues import Cues, Rules, rx

_MUTTERED = re.compile(
    r"(?:ok(?:ay)?|a+h+|oh|puh|hä|naja|na ja|ja|moin|hm+|bon|aïe|zut|oui|ouais|du coup|par contre|uf+|jaja|vale|bueno|pues|sí|super|genial"
    r"|perfecto|gut|alors|mais bon|pero bueno|de toute façon|y|et|und|aber|mais|pero|also|entonces)(?:[,!.…]+| -| –)*\s+(?=\S+ \S+)",
    re.IGNORECASE,
)
_TRAILS_OFF = re.compile(r"\s*(?:\.{2,}|…)$")
_MAX_MUTTERED = 3

_KINDS: dict[str, Rules] = {
    "de": (
        (
            "decision",
            rx(
                r"^dann (?!muss|kann|soll|darf|hab|bin|war|weiß|wäre|würde|hätte|müssen|können|sollten|sind|haben|wären)[a-zäöüß]+ (?:wir|ich)\b",
                r"\bhab(?:e|en)?(?: \w+){0,3} für [\w ]{2,40} entschieden\b",
                r"\b(?:ab jetzt|ab sofort|von jetzt an|künftig) ",
            ),
        ),
        (
            "preference",
            rx(
                r"\bbitte (?:immer|nur|ohne|nie|keine?)\b|^(?:immer|nur) [\w ]+ bitte\b|\b(?:mag|mögen) (?:hier |bei uns )?(?:keiner|niemand)\b|\blieber (?:kurz|einfach|lang)\w*"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:verträgt|vertrage|vertragen) (?:kein\w*|nicht)\b|\b(?:darf|dürfen) (?:ich|wir|man) (?:nix|nichts)\b|\bmehr geht nicht\b"
            ),
        ),
    ),
    "fr": (
        (
            "open_question",
            rx(
                r"\b(?:je (?:ne )?sais pas|on (?:ne )?sait pas)(?: encore)? (?:si|qui|quand|comment|combien|où)\b|\b(?:faut|dois) que je (?:demande|vérifie)\b"
            ),
        ),
        (
            "decision",
            rx(
                r"^va pour\b|\b(?:on|je) (?:garde|prends?|choisi[st]|réserve|évite|laisse|part|pars|reste)\b(?! (?:pas|ça|cela|là)\b)|\bdésormais\b",
                r"\bje vais (?!voir|essayer|tester|regarder|y\b|me\b|le\b|la\b|dormir|manger|réfléchir|demander|faire (?:ça|un))[a-zé]+(?:er|ir|re)\b",
            ),
        ),
        (
            "preference",
            rx(
                r"\b(?:toujours|jamais|plutôt)\b.*\b(?:stp|svp|s['’]il (?:te|vous) pla[iî]t)\b|\bje (?:retiens|travaille|apprends) mieux\b|\bça me stresse\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"^pas (?:plus )?de [\w]+|\b(?:intolérant|allergique|végétarien)\w*\b|\bdoi(?:t|vent) (?:rester|marcher|durer|tenir)\b"
            ),
        ),
    ),
    "es": (
        (
            "lesson",
            rx(r"^(?:apuntado|lo que aprend(?:imos|í)|lección|aprendido)\b[^:]{0,30}:"),
        ),
        (
            "open_question",
            rx(
                r"\b(?:tengo|hay|tenemos) que (?:mirar|ver|preguntar|comprobar|averiguar) si\b|\bno (?:sé|sabemos) (?:aún |todavía )?si\b(?! me\b)"
            ),
        ),
        (
            "decision",
            rx(
                r"^(?:pongo|cojo|tomo|elijo|cambio|compro|dejo|cambiamos|ponemos|cogemos)\b|^decidido\b|\b(?:ya está decidido|a partir de ahora|queda decidido)\b",
                r"\b(?:la|lo|los|las) (?:mando|dejo|hago|pongo) con\b",
            ),
        ),
        ("preference", rx(r"\bnada de [\w ]+|\b(?:siempre|nunca)\b.*\bpor favor\b|\bmándame siempre\b")),
        (
            "constraint",
            rx(
                r"\b(?:vegetarian|alérgic|celíac|intolerante)\w*\b|\bcomo mucho\b|\bno puedo (?:salir|gastar|antes|más)\b"
            ),
        ),
    ),
}
_IMPERATIVES = {
    "fr": r"(?!(?:chez|assez|rez|nez)\b)[a-zà-ÿ]+ez\b(?!-vous)",
    "es": r"no (?:lo|la|los|las|le|te)? ?[a-záéíóú]+(?:es|as)\b(?= )|(?:fuego|deja|lleva|pon|echa|sirve|lava|corta|mezcla|empieza)\b",
    "de": r"(?:füttern|halten|nehmen|stellen|lassen|geben|schneiden|achten|legen|drehen|prüfen) sie\b",
}
_ABOUT_SELF = {
    "de": r"(?:klausur|prüfung|termin)\w* (?:ist|sind) am\b|ich mach\b|haus von \d{4}\b",
    "fr": r"(?:j['’]ai|contrôle|examen|je passe) [\w ]*\b(?:contrôle|examen|bac|lundi|mardi|mercredi|jeudi|vendredi)\b|équipe de \d",
    "es": r"(?:tengo|hay) examen\b|me acabo de\b|acabo de\b|siempre confundo\b|somos \d+\b",
}


def without_mutter(text: str) -> str:
    """A learner's sentence without what is muttered before it, and with an end where it trails off."""
    for _ in range(_MAX_MUTTERED):
        match = _MUTTERED.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return _TRAILS_OFF.sub(".", text)


def widened(cues: Cues) -> Cues:
    """A language's cues with the everyday ones added behind its own."""
    code = cues.code
    return replace(
        cues,
        kinds=(*cues.kinds, *_KINDS[code]),
        imperative_start=_also(cues.imperative_start, _IMPERATIVES[code]),
        about_self=_also(cues.about_self, _ABOUT_SELF[code]),
    )


def _also(pattern: re.Pattern[str] | None, more: str) -> re.Pattern[str]:
    return rx(more) if pattern is None else rx(pattern.pattern, more)
