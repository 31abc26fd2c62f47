"""German cues."""

from extraction.claims.cues import Cues, rx
from extraction.claims.cues_terse import widened

LEAD = rx(
    r"(?:also|ja|nein|genau|richtig|gut|ok|okay|super|klar|stimmt|na ja|naja|hallo|danke|schön|gern|kurz gesagt|kurz|außerdem|zudem|übrigens|jedoch|allerdings|zusammengefasst|wichtig|merke|nicht ganz|verständlich|mist|ach so|ach|auch hier gilt|im allgemeinen|allgemein)(?:,|:|\s[–—-]|[–—])\s*",
    r"[^:,]{3,40}\b(?:regel|muster|prinzip|weiter|merksatz)\b[^:,]{0,16}:\s*",
    r"(?:und|aber|denn|doch)\s+(?=[A-ZÄÖÜ])",
    r"(?:merk dir|merke dir|beachte|bedenke|denk daran)(?:,)? dass\s+",
)

DE = Cues(
    code="de",
    min_chars=26,
    max_chars=330,
    min_words=4,
    lead=LEAD,
    question=rx(
        r"(?:was|wie|warum|wieso|weshalb|wann|wo|wer|welche[rsnm]?|woher|wohin|ist|sind|kann|kannst|könntest|hast|hat|willst|soll|wird)\s+(?:du|ich|er|sie|es|das|die|der|man|wir|ihr)\b[^.]*$"
    ),
    anaphora_start=rx(
        r"(?:das|dem|den|die|der) (?:ist|sind|war|waren|hat|haben|wird|werden|kann|können|liegt|gilt|heißt|bedeutet|macht|geht|klingt|zeigt|entspricht|führt|gibt|steht|muss|lässt|höre|spiele)\b",
        r"(?:ihr|ihre|ihren|ihrer|sein|seine|seinen|seiner|beides|der eine|die eine|der andere|die andere|das andere|die übrigen)\b",
        r"(?:er|sie|es|dies|diese[rsnm]?|jene[rsnm]?|solche?|beide|da|dort|hier|dadurch|damit|daher|dafür|davon|dabei|dazu|dazwischen|danach|dagegen|deshalb|deswegen|darum|dann(?! [a-zäöüß]+ (?:wir|ich)\b)|so|sonst|stattdessen|ebenso|letztere\w*|erstere\w*|auch hier|zum beispiel|nur so|noch \w+er|diesmal|gern)(?![\w-])",
        r"(?:wenn|weil|da|obwohl|falls|nach|mit|bei|in|für|von|aus|durch|ohne|auf|an|unter|zu|wegen) (?:es|sie|er|ihm|ihr|ihnen|ihn|das|dies|diese[rnms]?|dem|jene[rnms]?|demselben|derselben)\b(?! [A-ZÄÖÜ])",
        r"(?:der|die|das) (?:erste|zweite|dritte|letzte|nächste|andere|obige|gleiche|folgende|antwort|frage|ergebnis|unterschied|grund|trick|aufgabe|beiden|name|siebte)\b(?! (?:von|zwischen|der|des|hauptsatz|weltkrieg|gesetz))",
    ),
    deixis=rx(
        r"\b(?:dies(?:e|er|es|em|en) (?:beispiel|schritt|frage|aufgabe|lektion|fall|regel|akkord|antwort)|(?:siehe|wie) oben|oben genannt|unten genannt|wie (?:gesagt|erwähnt|gezeigt)|vorhin|gerade eben|siehe|diesen einen|dein\w*|ihr beispiel)\b",
    ),
    meta=rx(
        r"\b(?:fangen wir|schauen wir|sehen wir|machen wir|gehen wir|lass uns|lassen sie uns|ich (?:zeige|erkläre|frage|gebe|empfehle|würde|habe|kann|meine|denke|glaube|schlage)|meine ich|gute frage|sehr gut|gut gemacht|gut beobachtet|richtig geschlossen|viel erfolg|im nächsten|beim nächsten|jetzt zu|noch ein|quiz|lektion|eselsbrücke|merksatz|hilfe für|stell dir vor|stellen sie sich|druckfehler|baustein|knapp daneben|deine? antwort|du (?:hast|kannst|brauchst|willst|musst|solltest|darfst|siehst|wirst)|sie (?:haben gesagt|sehen hier))\b",
    ),
    greeting_start=rx(
        r"(?:hallo|hi|guten (?:morgen|tag|abend)|danke|vielen dank|gern(?:e)?|bitte|tschüss|schön|prima|super)\b[^.]{0,30}[.!]?$"
    ),
    imperative_start=rx(
        r"(?:nimm|nehmen sie|zähle?|zählen sie|schreib\w*|lies|lesen sie|denk\w*|merke?|beachte\w*|probier\w*|versuche?\w*|stell\w*|schau\w*|sieh|rechne|berechne\w*|überleg\w*|wiederhole?\w*|übe|erfinde|spiel|vergleiche?|verwende?|benutze?|achte|setz\w*|mach|geh|gib|hör|wähle|füge|lass|vermeide)\b(?! (?:ist|sind|hat|wird)\b)",
    ),
    hedge=rx(
        r"\b(?:vielleicht|wahrscheinlich|vermutlich|eventuell|könnte(?:st|n)? (?:du|sie|man)|solltest|sollten sie|ich würde|würde ich|am besten|empfehle|mein rat|ein vernünftiger)\b"
    ),
    first_person=rx(r"\b(?:ich|mir|mich|mein\w*|uns|unser\w*|wir)\b"),
    addressed=rx(
        r"\b(?:du|dir|dich|dein\w*)\b",
        r"\b(?:Sie (?:haben|können|sollten|müssen|sehen|werden|möchten)|Ihnen|Ihre?[nmrs]?)\b(?<!^Ihre)",
        flags=0,
    ),
    accept=rx(
        r"\b(?:verstehe|verstanden|alles klar|leuchtet (?:mir )?ein|ergibt sinn|macht sinn|klar|ach so|das überzeugt|überzeugt mich|das sitzt(?: jetzt)?|einleuchtend|jetzt ist es klar|kapiert|gut zu wissen)\b"
    ),
    unsure=rx(
        r"\b(?:unsicher|nicht (?:ganz )?(?:sicher|klar)|verwechsle|verwechsele|durcheinander|verstehe (?:ich )?(?:das |es |noch |immer noch )*nicht|kapiere|unklar|schwer zu (?:merken|verstehen)|vergesse|muss ich noch üben|verwirrt)\b"
    ),
    resist=rx(
        r"\b(?:glaube (?:ich |das |dir )*(?:nicht|kaum)|kann (?:doch )?nicht (?:stimmen|sein|richtig)|stimmt (?:doch )?nicht|das ist (?:falsch|nicht richtig|nicht wahr)|bin (?:ich )?(?:nicht|anderer) (?:überzeugt|meinung)|überzeugt mich nicht|widerspreche|sehe ich anders|bezweifle|leuchtet (?:mir )?nicht ein|ergibt keinen sinn)\b"
    ),
    confirm_start=rx(
        r"(?:genau|richtig|stimmt|ja|korrekt|exakt|völlig richtig|so ist es|absolut)\b(?!,? (?:aber|eine bekannte))"
    ),
    deny_start=rx(
        r"(?:nein|nicht ganz|fast|vorsicht|leider|falsch|knapp daneben|beinahe|eher nicht|eigentlich|das ist ein häufiger|gut beobachtet, (?:und|aber)|sie haben dieselben)\b"
    ),
    negation=rx(r"\b(?:nicht|kein\w*|nie|niemals|ohne|weder|nichts|niemand)\b"),
    kinds=(
        (
            "lesson",
            rx(
                r"\b(?:gelernt habe(?:n)? (?:ich|wir)|(?:ich|wir) habe(?:n)? (?:daraus |dabei )?gelernt|lektion gelernt|lehre(?: daraus)?(?: \w+)?:|beim nächsten mal|nächstes mal|der fehler war|im nachhinein|hat sich herausgestellt|stellt(?:e)? sich heraus|nie wieder)\b",
                r"lehre(?: \w+)?:",
            ),
        ),
        (
            "open_question",
            rx(
                r"\b(?:offene (?:frage|punkt)|offen ist|noch (?:offen|unklar|nicht (?:entschieden|geklärt|klar))|müssen (?:wir )?noch (?:klären|herausfinden|entscheiden|fragen)|muss ich noch (?:klären|herausfinden|fragen)|weiß (?:ich|noch) (?:noch )?nicht,? ob|steht noch nicht fest|noch zu klären)\b"
            ),
        ),
        (
            "decision",
            rx(
                r"\b(?:(?:ich|wir) (?:habe|haben)(?: \w+){0,3} (?:beschlossen|entschieden|vereinbart|festgelegt)|habe(?:n)? (?:ich |wir )?(?:mich |uns )?(?:dafür |für \w+ )?(?:beschlossen|entschieden|geeinigt)|(?:wir|ich) (?:nehmen|nehme|bleiben bei|bleibe bei|verzichten auf|verzichte auf|setzen auf|setze auf|entscheiden uns|entscheide mich)|entscheidung:|beschluss:|beschlossen|wir haben uns (?:für|auf|gegen))",
                r"(?:die )?entscheidung (?:ist|lautet|:)",
            ),
        ),
        (
            "working_assumption",
            rx(
                r"\b(?:(?:ich|wir) nehme[n]? (?:vorerst |erst einmal |mal )?an|nehmen wir an|angenommen|annahme|vermutlich|wahrscheinlich|(?:ich|wir) gehe[n]? (?:vorerst |erst einmal )?davon aus|voraussichtlich)\b"
            ),
        ),
        (
            "preference",
            rx(
                r"\b(?:am liebsten|(?:ich|wir) (?:bevorzuge[n]?|mag|mögen|liebe|hasse)|(?:ich|wir) (?:\w+ ){0,4}lieber|lieber (?:ist|wäre) mir|ist mir lieber|mein\w* lieblings\w+|(?:bitte )?immer (?:mit|in|zuerst|nur)|ich (?:lerne|arbeite|esse|trinke|lese|nutze|will) (?:\w+ ){0,3}(?:immer|nie|lieber|besser))\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:muss(?:te|s|t)?|müssen|darf(?:st)? (?:\w+ ){0,4}(?:nicht|nur|kein\w*|höchstens)|dürfen|höchstens|mindestens|maximal|nicht mehr als|nicht länger als|spätestens|bis (?:spätestens|zum \d)|budget|frist|kann (?:ich |man )?nur|nur (?:mit|bis)|ist (?:nicht )?erlaubt|ist verboten|obergrenze|kein\w* \w+ (?:erlaubt|möglich))\b"
            ),
        ),
    ),
    request_start=rx(
        r"(?:kannst|könntest|bitte|erklär\w*|zeig\w*|gib|sag|hilf|fragst|mach|was|wie|warum|wann|wo|welche\w*|ist|sind|noch eine|letzte frage)\b(?! (?:du )?(?:bitte )?(?:immer|nur|ohne|nie|keine?)\b)"
    ),
    never=rx(
        r"\b(?:ich (?:möchte|will|muss) (?:\w+ ){0,6}(?:verstehen|wissen|lernen|fragen|gehen|los)|muss ich (?:noch |das )*(?:üben|nachdenken|verstehen|los|gehen)|das muss ich|kannst du(?! bitte immer)|könntest du(?! bitte immer)|müsste|muss (?:\w+ ){0,3}(?:liegen|sein, weil))\b",
    ),
    belief=rx(r"(?:ich (?:weiß|wusste)|ich habe gelernt|wir haben gelernt|ich (?:glaube|denke)),? dass\s+"),
    about_self=rx(
        r"(?:ich (?:bin (?:ein|eine|seit|von beruf|lehrer|student|aus|allergisch|vegetarier\w*|\d+)|arbeite|wohne|lebe|lerne seit|studiere|spiele|habe (?:ein|eine|einen|zwei|drei|vier|\d|seit|nur|kein\w*)|spreche|unterrichte|verwechsle|verwechsele|nutze|benutze|kenne|kann (?:schon|bereits|gut|nur|kein\w*)|komme aus|fahre|koche|leite))\b",
        r"(?:mein|meine|unser|unsere) \w+(?: \w+){0,3} (?:ist|sind|hat|haben|läuft|kostet|war|liegt|besteht|heißt|isst|spricht|wohnt|arbeitet)\b",
        r"wir (?:haben|sind|wohnen|nutzen|arbeiten|heizen|leben|besitzen|verwenden)\b",
        r"am \d{1,2}\. (?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember) (?:ist|habe|haben|beginnt|findet)\b",
    ),
    owned=rx(r"\b(?:ich|wir|mein\w*|unser\w*|uns)\b"),
)

CUES = {"de": widened(DE)}
