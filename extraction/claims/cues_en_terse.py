"""More English cues for what a learner states: choices, habits and limits in the words of everyday chats."""

from extraction.claims.cues import Rules, rx

_WILL = r"\b(?:i|we)(?:['’]ll| will|['’](?:m|re) (?:going to|gonna)| (?:am|are) (?:going to|gonna)| gonna)"
_SETTLING = (
    "keep|stay|leave|do|make|put|run|cut|limit|avoid|offer|pay|structure|build|set|stop|eat|add|replace|reduce|accept|refuse|cancel"
    "|wait|hire|rent|go|have|serve|plant|grow|cook|bake|train|practi[cs]e|wear|host|store|ship|publish|bring|invite|travel|drive|split"
    "|order|paint|install|focus|concentrate|take|use|buy"
)
# What is done once and then over is no decision to remember.
_ERRAND = (
    "do (?:that|it|this|so|my|some)|go (?:now|to bed|home|on|back|ahead|and|to the|get)|have (?:a |to |another|time|dinner|lunch)|make (?:sure|a note|one|it)"
    "|keep (?:you|that|it|going|trying|in mind|an eye)|leave (?:now|you|soon)|set (?:it|that) up|add (?:it|that|them)|run (?:it|that)"
    "|wait (?:here|a)|put (?:it|that|them)|stop (?:here|now|there)|offer you|take (?:that|it|this|a|them)|use (?:that|it|this|them)|buy (?:it|that|one)|pay attention|build (?:it|that)|make (?:that|this)"
)
_LASTS = r"from now on|next (?:year|season|month|week|term|summer|winter|spring|autumn)|this (?:time|year)|starting (?:today|tomorrow|now|\w+day)"

LABELS: Rules = (
    (
        "decision",
        rx(
            r"(?:[\w ]{0,30}\b)?(?:decision made|decided|fixed|settled)\s*:\s*",
            r"(?:i(?:['’]ve)? )?changed my mind[,:;.]?\s+(?=(?:we|i|let)\b)",
        ),
    ),
    (
        "lesson",
        rx(
            r"(?:i )?learn(?:ed|t) (?:something|a lot|a lesson|my lesson|today|this week)[\w ]{0,16}:\s*",
            r"what (?:i|we)(?:['’]ve| have)? (?:noticed|learned|learnt|figured out|reali[sz]ed|found out|found)\b[\w ]{0,24}:\s*",
            r"lessons? (?:for|from) [\w' ]{2,24}:\s*",
        ),
    ),
)

KINDS: Rules = (
    (
        "open_question",
        rx(
            r"\bwhat (?:i|we) still (?:don['’]t|do not) know\b",
            r"\b(?:need|have|got) to (?:check|ask|clarify|find out|confirm)(?: with (?:the |my |our )?[\w ]{2,24}?)? (?:if|whether|how|which|who|when|what)\b",
            r"\b(?:nobody|no one)(?: has|['’]s)? (?:told|tells|said|says|answered) [\w ]{0,12}(?:if|whether|how|which|when|who)\b",
            r"\b(?:nobody|no one|none of us) (?:yet )?knows? (?:yet )?(?:if|whether|which|how|who|when|where|what)\b",
            r"\bstill (?:don['’]t|do not) know (?:if|whether|which|how|who|when)\b",
        ),
    ),
    (
        "decision",
        rx(
            rf"{_WILL} (?:not |never |always |just |definitely |also |only |rather )*(?!(?:{_ERRAND})\b)(?:{_SETTLING})\b",
            r"\b(?:i|we) (?:did |do )(?:finally )?decide\b",
            rf"^(?:so,? )?(?:{_LASTS}),? (?:(?:i|we)(?:['’]ll)? )?(?:no|only|always|just|one|use|do|take|plant|go|buy|keep|start)\b",
            r"\blet(?:['’]s| us) (?:just )?(?:take|buy|book|order|rent|plant|make it)\b(?! (?:a (?:look|break|step|moment)|it|that|this|one)\b)",
            r"\b(?:is|are) out (?:until|for (?:me|us|this|now))\b",
        ),
    ),
    (
        "preference",
        rx(
            r"\b(?:i|we) (?:really |just |generally )?(?:do not|don['’]t|never) (?:ever )?(?:use|drink|eat|wear|smoke|buy|watch|play|touch)\b(?! (?:it|that|this|them)\b)",
            r"\b(?:i|we) (?:really )?(?:do not|don['’]t) want (?!to\b|you\b|it\b|that\b|this\b|them\b|an? (?:answer|hint|solution))\w+",
            r"\bi (?:always|never) (?!(?:forget|confus\w+|mix\w*|mess|think|thought|get|got|know|knew|wonder\w*|struggl\w+|have|had|been|am|was|fail\w*|remember\w*|understand|understood|see|saw|heard|learn\w*|lose|mistake|fall)\b)[a-z]+ (?!it\b|that\b|this\b)",
            r"\b(?:is|are) (?:fine|ok|okay) (?:for|with|by) me\b",
            r"\bwhat i(?:['’]m| am) after\b",
            r"\bfor me,? (?:way|much|far|a lot) (?:better|easier|clearer) than\b",
        ),
    ),
    (
        "constraint",
        rx(
            r"\b(?:every|each|any) [\w -]{2,40}? (?:needs?|requires?|has to|must|goes through)\b.*\b(?:our|us|we|my|here)\b",
            r"^only (?:after|before|on|in|with|between|at|from|until)\b",
            r"\bonly (?:the|my|our) [\w ]{3,30} (?:has|have|can|may)\b",
            r"\b(?:is|are) (?:[\w£€$.,:]+ )?(?:sharp|max|the (?:ceiling|maximum|minimum))\b",
            r"\d\w*(?: \w+)? (?:max|tops|at the most)\b",
            r"\b(?:won['’]t|will not|does not|doesn['’]t) (?:allow|approve|pay for|accept|let (?:us|me))\b",
            r"\b(?:allows?|permits?) (?:us |me )?(?:max|only|at most|no)\b",
        ),
    ),
)
