"""English cues for what a learner states about themselves, their wishes and their project."""

from extraction.claims import cues_en_terse as terse
from extraction.claims.cues import Rules, rx

_ADVERBS = r"(?:(?:really|still|also|always|usually|generally|actually|strongly|much|just|already|definitely|personally|rather|mostly|only|never) )*"
_DECIDED = r"decided|agreed|chose|chosen|picked|settled on|opted|committed to|ruled out"
_ADOPT = (
    r"go(?:ing)? (?:with|for)|us(?:e|ing)|stick(?:ing)? (?:with|to)|stay(?:ing)? with|switch(?:ing)? to|mov(?:e|ing) to"
    r"|settl(?:e|ing) (?:on|for)|choos(?:e|ing)|pick(?:ing)?|adopt(?:ing)?|drop(?:ping)?|skip(?:ping)?|postpon(?:e|ing)"
)

# "Decision: …", "One condition: …", "So lesson two: …": the speaker names the kind; the claim is what follows.
LABELS: Rules = (
    (
        "decision",
        rx(
            r"(?:[\w ]{0,20}\b)?(?:decision|decided|choice|agreed|change of plan|plan|settled)(?: is| was| for now)?\s*:\s*"
        ),
    ),
    ("lesson", rx(r"(?:[\w ]{0,20}\b)?(?:lessons?(?: learn(?:ed|t))?|takeaway|note to self)\b[\w ]{0,20}:\s*")),
    (
        "open_question",
        rx(
            r"(?:[\w'’ ]{0,12}\b)?(?:open (?:point|question|issue)s?|still open|unclear|to clarify|unresolved|tbd)\b[\w ]{0,16}:\s*",
            r"open:\s*",
        ),
    ),
    ("working_assumption", rx(r"(?:(?:my|our|working|one|current) )*(?:assumption|hypothesis)\s*:\s*")),
    ("preference", rx(r"(?:(?:my|our|one) )*preference\s*:\s*")),
    (
        "constraint",
        rx(
            r"(?:[\w'’, ]{0,40}\b)?(?:limit|condition|requirement|constraint|restriction|rule|must-have)(?: (?:from|for) (?:me|us))?\s*:\s*"
        ),
    ),
    *terse.LABELS,
)

KINDS: Rules = (
    (
        "lesson",
        rx(
            r"\blessons? (?:learned|learnt|from|for (?:me|us|next time))\b",
            r"\b(?:the |my |our )(?:big |main |real )?(?:mistake|lesson) (?:was|is|here)\b",
            r"\b(?:what went wrong|in hindsight|with hindsight|learn(?:ed|t) the hard way|note to self|never again|turns? out|turned out|it was a mistake to)\b",
            r"\bwe (?:learned|learnt)\b",
            r"\b(?:i|we) (?:should(?:n['’]t| not)?|ought to) have\b",
            r"\bnext time,? (?:we|i|let['’]s)\b",
        ),
    ),
    (
        "open_question",
        rx(
            r"\b(?:open (?:question|point|issue)|to be (?:decided|confirmed|clarified|determined)|tbd|undecided|unresolved)\b",
            r"\b(?:still|we|i) (?:need|have) to (?:find out|figure out|decide|check|confirm|clarify|work out|ask) (?:if|whether|which|how|when|who|what|where|why)\b",
            r"\b(?:still need|still have|needs?) to (?:find out|figure out|decide|confirm|clarify)\b",
            r"(?:\bnot|n['’]t) (?:yet )?(?:decided|settled|agreed|confirmed)(?: yet)?\b.{0,60}\b(?:whether|if|which|how|when|who|what|where)\b",
            r"\b(?:not sure|don['’]t know) yet (?:whether|if|which|how|when|who|what|where)\b",
            r"\b(?:we|nobody|no one) (?:don['’]t|do not|doesn['’]t|does not) (?:yet )?knows? (?:yet )?(?:whether|if|which|how|when|who|what|where)\b",
            r"\b(?:remains?|is|are|it['’]s) (?:still )?(?:open|unclear|undecided|to be seen)(?: (?:whether|if|which|how|when|who|what|where)|[.:,])",
            r"\bwhat(?:['’]s| is) (?:still )?(?:not clear|unclear|open|missing)\b",
            r"\bwhat (?:i|we) (?:don['’]t|do not) know(?: yet)? is\b",
        ),
    ),
    (
        "decision",
        rx(
            rf"\b(?:we|i|they|the (?:team|group|board|committee)|our (?:team|group))(?:['’]ve| have)?(?: (?:finally|now|just|already|all|also))* (?:{_DECIDED})\b",
            r"\b(?:i|we) (?:now )?decide\b",
            r"\b(?:i|we)(?:['’]ve| have)? made (?:the|a|our|my|up (?:my|our)) (?:final )?(?:decision|choice|minds?)\b",
            rf"let(?:['’]s| us) (?:just |rather |definitely )?(?:{_ADOPT})\b",
            rf"\b(?:i['’]ll|we['’]ll|i will|we will|i['’]m|we['’]re|i am|we are)(?: not)? (?:going to |gonna )?(?:{_ADOPT}|buy(?:ing)?|tak(?:e|ing))\b",
            r"\bwe (?:go (?:with|for)|take|buy|choose|stay with|stick (?:with|to)|switch to|drop|replace)\b",
            r"(?:the |our |my )?(?:final )?(?:decision|choice) (?:is|was)\b",
            r"^(?:going|sticking|staying) (?:with|for|to)\b",
            r"let(?:['’]s| us) keep (?!going|it|that|this|talking|in\b|on\b|the (?:momentum|pace))",
            r"\b(?:i|we) went (?:for|with)\b",
            r"\b(?:is|are|was|were) (?:decided|settled|agreed|ruled out|off the table)\b",
            r"\b(?:is|are) out[.,]",
            r"\bstays[.,]",
        ),
    ),
    (
        "working_assumption",
        rx(
            r"\b(?:assuming|let(?:['’]s| us) (?:assume|suppose)|(?:working |my |our )assumption|my (?:working )?(?:hypothesis|guess) is|presumably|probably)\b",
            r"\b(?:i|we)(?:['’]m|['’]re|['’]d| am| are| would)? assum(?:e|ing)\b",
            r"\b(?:i|we)(?: would|['’]d)? expect\b",
            r"\buntil (?:we|i) (?:know|hear)\b",
            r"\bfor now,? (?:we|i) (?:plan|count|calculate|take|use|treat)\b",
        ),
    ),
    (
        "constraint",
        rx(
            r"\b(?:deadline|budget|upper limit|lower limit|hard limit|a maximum of|a minimum of|at most|at the latest|must not|mustn['’]t|is due|are due)\b",
            r"\bno (?:more|later|longer|less|fewer) than\b",
            r"\bnot (?:more|later|longer) than\b",
            r"\bmust (?:stay|remain|be (?:under|below|at least|at most|within|done|ready|finished))\b",
            r"\b(?:(?:never|not) for (?:more|longer) than|(?:is|are|be) limited to|without exceeding)\b",
            r"^no [\w -]{3,60}, (?:our|the|my|because)\b",
            r"\b(?:insurance|law|contract|landlord|board|boss|client|regulations?) (?:demands?|requires?|forbids?|insists?|does not allow|doesn['’]t allow)\b",
        ),
    ),
    (
        "preference",
        rx(
            rf"\bi(?:['’]d| would)? {_ADVERBS}(?:prefer|like|love|enjoy|hate|dislike|favou?r|can['’]t stand)\b",
            r"\b(?:i|we) (?:really )?(?:do not|don['’]t) (?:really )?(?:like|enjoy|want (?:to (?:use|see|have|work|lose|keep)|any|a|my|our|the))\b",
            r"\bmy (?:favou?rite|preferred|preference)\b",
            r"\b(?:i|we)(?:['’]d| would) rather\b",
            r"\b(?:i|we) (?:always|never|generally) (?:want|use|write|work|read|start|do|take|eat|drink)\b",
            r"\b(?:we prefer|from now on|works? (?:best|better) for me|i tend to)\b",
            r"^(?:please )?(?:always|never) [a-z]+ ",
            r"\b(?:i learn|i remember|i understand|i work|i concentrate|i focus) (?:\w+ )?(?:best|better)\b",
            r"\bi want (?:\w+ )?\d",
            r"\bi (?:want|like) to \w+ .*\bmyself\b",
            r"\b(?:in|at) the \w+,? i want\b",
        ),
    ),
    *terse.KINDS,
)

# Limits that are limits only where somebody speaks of their own matters: elsewhere "must" states a fact.
OWN_KINDS: Rules = (
    (
        "constraint",
        rx(
            r"\b(?:must|cannot|can['’]t|can not|may not|has to|have to|needs? to|at least|max\.?|up to \d|(?:is|are) only allowed|limit (?:is|of)|required to|(?:is|are) required|only have \d+|has only \d+|can only|only if|only when|not allowed|only [\w ]{3,30} allowed)\b",
            r"\b(?:cost|costs|stay|be|keep\w*|stays|remain) (?:\w+ )?(?:under|below) \d",
            r"\bwithin \d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?|ms)\b",
            r"\b(?:i|we) want\b.*\b(?:before|by(?! (?:hand|myself|bus|train|car|bike|foot|ear|heart|mail|phone|the way)\b)|otherwise|no later|under|below|only)\b",
            r"\b(?:i|we) (?:will not|won['’]t) [a-z]+ (?:up |any |the |a |my |our )",
            r"\bby then\b",
        ),
    ),
)

REQUEST = rx(
    r"(?:please |pls )?(?:help|tell|give|show|explain|write|make|create|summari[sz]e|list|translate|fix|continue|go on|ask me|quiz me|check|compare|draft|look)\b(?! always| never)",
    r"(?:what|why|how|when|where|who|which|is|are|do|does|did|can|could|should|would|will|shall|any)\b(?!(?:['’]s| is) (?:still )?(?:not clear|unclear|open|missing)| (?:i|we) (?:still )?(?:don['’]t|do not) know)",
    r"(?:please|pls)\b(?! (?:always|never)\b)",
)

NEVER = rx(
    r"\b(?:i|we) (?:have to|must|need to|should|gotta|got to) (?:go|leave|know|understand|learn|think|see|ask you|say|admit|remember|explain|stop|decide about|decide on)\b",
    r"\bi (?:can['’]t|cannot|can not) (?:remember|understand|see|believe|figure|wait|tell|follow|think|find|say|prove|explain|help|quite|really|imagine|decide)\b",
    r"\bi(?:['’]d| would) (?:like|love|prefer) (?:to (?:know|understand|learn|ask|see|hear|start|try|talk|go|have|get|continue|discuss|check|do)|you to|an?|some|help|your)\b",
    r"\bi (?:really |also |still )*(?:like|love) (?:that|this|it|these|those|the (?:idea|plan|first|second|sound|way|image|comparison|analogy)|your|how you|both)\b",
    r"\b(?:i|we) (?:need|want) (?:to (?:understand|know|learn|ask|see|talk|check(?! with\b| if\b| whether\b)|think|find out|hear)|help|some help|you\b|your|a hand|advice)\b",
    r"\bi(?:['’]m| am) (?:\w+ )?(?:confused|back|ready|done|lost|sure|stuck|curious|asking|guessing|fine|good|ok|okay|sorry|afraid|happy|glad|here|listening|wondering|thinking|trying|looking for|not sure|having trouble|unsure|talking|still not|nervous)\b",
    r"\bi have (?:a|another|one|one more|two|no|some) (?:more |last |quick |other |final )*(?:questions?|doubts?|ideas?|problems?|clue|thing)\b",
    r"\b(?:can|could|would|will) you\b",
    r"\blet(?:['’]s| us) (?:go on|continue|start|begin|move on|do|talk|look|see|try|keep going|use (?:an?|the|that|this|your) (?:example|analogy|same)|take (?:a|an|it|that)|skip (?:that|it|this)|pick (?:it|that|this) up|move to the next|drop (?:it|that|this)|hear|say)\b",
    r"\b(?:i guess so|i suppose so|probably not|i think so|whatever[.,!]?$|i guess|kind of answer|surprises me|i explained|i'll do it|you said|you mentioned|you told|test(?:ing)? if|my (?:old )?notes say|i had (?:secretly )?hoped|stay that way|i (?:always |also )?thought)\b",
    r"\b(?:someone|somebody|everybody|everyone|people|an? \w+|he|she|they|my \w+|the \w+) (?:\w+ ){0,5}(?:says?|said|suggest(?:s|ed)|thinks?|recommends?|tells?|told|claims?|claimed)\b",
    r"\b(?:nobody has to|don['’]t have to|doesn['’]t have to|does not have to|do not have to)\b",
    r"\b(?:that|this|it) (?:must|has to|can['’]t|cannot|needs to) be (?:because|why|wrong|right|the reason)\b",
    r"\bhave to (?:admit|say)\b",
    r"\b(?:need|have|want|got) to\b.*\b(?:today|tonight|right now|asap|this (?:morning|afternoon|evening))\b(?! (?:by|before))(?<!by today)(?<!until today)",
    r"^(?:i|we) (?:still )?(?:have|need|got) to (?:pick|choose|find(?! out)|settle|sort|figure(?! out)|plan|organi[sz]e|get|buy|call|book|write|fix|prepare|start|finish|work)\b(?!.*\b(?:by|before|until|within|no later|at least|at most|only)\b)",
    r"^if (?:i|we) (?:had|were|was|could|won|lived|knew)\b|\b(?:i|we)(?:['’]d| would) (?:have )?(?:\w+ )?(?:if|unless)\b",
    r"^(?:didn|haven|couldn)['’]t (?:know|think|expect|notice)",
    r"\bmust have\b",
    r"\bi(?:['’]ll|['’]ve|['’]m going to| will) (?:be back|think about|try|tell|let you|come back|do (?:that|it)|go (?:now|on)|use (?:that|it|this)|take (?:that|it|this|a look|a break)|read|print|report)\b",
)

BELIEF = rx(
    r"(?:i|we) (?:already |also )?(?:know|knew|learned|learnt|remember),? that,?\s+",
    r"(?:i|we) (?:also )?(?:think|believe|heard)(?:,? that)?,?\s+(?!how |what |why |where |when |who |which |about |it |of |so\b|the difference|whether |if |from |the hard way)",
    r"(?:i|we)(?:['’]ve| have) (?:learned|learnt) that\s+",
    r"(?:i(?:['’]d| would) say|as far as i know)(?:,? that)?,?\s+",
)

_WE_DO = (
    "have|use|run|live|work|own|sell|make|host|store|get|serve|keep|pay|paid|cook|heat|burn|burned|burnt|drive|rent|teach|train|publish|ship|grow"
    "|lost|spent|bought|built|moved|started|hired|employ|meet|charge|earn|deploy|already|currently|still|now|only|each|all|both"
)
_I_DO = (
    "work|live|study|teach|own|use|run|play|speak|drive|travel|maintain|manage|lead|commute|write|cook|eat|train|sing|keep|pay|grew up|kept|was born"
    "|moved|joined|started|finished|graduated|passed|failed|mix|confuse|forget|struggle|bought|built|sold|studied|worked|lived|taught|learned to"
    "|repair|grow|collect|practise|practice|know how|know the difference|have \\d|have an?|have (?:two|three|four|five|six|about|around|only|worked"
    "|been|used|written|studied|taught|read|lived|never|built|bought|had)|can (?:read|speak|write|play|program|use)"
)
ABOUT_SELF = rx(
    r"i(?:['’]m| am) (?:an?|the|from|on (?:the|a|my)(?! (?:way|phone|train|bus|fence|page|other))|based|responsible|preparing|doing|learning|studying|training|working|writing|building|teaching|planning|using|running|moving|allergic|vegetarian|vegan|colou?r|left-handed|new to|in my|in year|in charge|\d+|currently|on call|part of|used to|good at|bad at|fluent|married|retired|self-taught|not allowed|responsible)\b",
    rf"i (?:(?:always|usually|often|mostly|mainly|currently|also|still|only|never|already|regularly) )*(?:{_I_DO})\b",
    r"i(?:['’]ve| have)? (?:(?:just|recently|now) )*(?:joined|moved (?:to|into|back)|switched (?:jobs?|schools?)|changed (?:jobs?|schools?))\b",
    r"i now (?:work|live|study|teach)\b",
    r"i(?:['’]ve| have) (?:been|used|worked|lived|studied|played|never|only|had|owned|built|written|taught|run|already)\b",
    r"(?:my|our) [\w'’-]+(?: [\w'’-]+){0,4} (?:is|are|was|were|has|have|runs?|uses?|lives?|works?|costs?|will|can|wants?|needs?|likes?|speaks?|does not|doesn['’]t|starts?|ends?|weighs?|eats?|sleeps?|takes?|consists?|[a-z]{3,}s)\b",
    rf"we (?:(?:do|also|usually|always|never|have) )*(?:{_WE_DO})\b",
    r"we(?:['’]re| are) (?:an?|a team|\d|two|three|four|five|six|seven|eight|based|in|using|running|moving|about|on)\b",
    r"i [a-z]+ (?:\w+ ){0,3}(?:once|twice|every (?:day|week|morning|evening|month|year)|daily|weekly|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b",
    r"i know (?!that|how|what|the difference|it|this|why|where|when|who|if|whether|about|i\b|you|we\b)",
    r"i was (?:diagnosed|born|raised|trained|hired|promoted)\b",
    r"i take (?!that|it|this|the |a break|note|over|your)",
    r"i want to (?:build|make|launch|open|publish|start|sell|run my|plant|renovate|move to|learn to|become|pass|reach|finish|be able to pass|qualify)\b",
    r"we(?:['’]re| are) (?!not\b|sure|happy|fine|done|ready)[a-z]+ing\b",
    r"we want (?:to )?(?:put|build|make|move|open|publish|replace|launch|add|offer|reach|create|grow|sell)\b",
    r"(?:last|this|next|every|in|on|since|for) [\w ]{2,24},? (?:we|i) (?:[a-z]+ed|lost|have|had|use|run|meet|start|go|spent|built|bought|teach|work|play)\b",
)

OWNED = rx(
    r"\b(?:our|ours|we)\b",
    r"\bmy (?:house|home|flat|project|app|team|company|class|garden|code|server|client|shop|book|business|school|lab|group|site|website|product|thesis|car)\b",
)

REASON = rx(
    r"(?:the )?(?:main )?reasons?(?: (?:is|are|was|were|being)|:)", r"because\b", r"that(?:['’]s| is) because\b"
)
ALTERNATIVES = rx(r"(?:the )?(?:other )?(?:alternatives?|options?) (?:was|were|would have been|considered)\b")
ACTION = rx(
    r"(?:i|we)(?:['’]ll| will|['’]m going to| am going to) (?:have to )?(?:ask|check|find out|call|write to|measure|test|buy|look (?:it|that|this) up|clarify|talk to|raise)\b",
    r"(?:the |my |our )?next (?:step|action)\b",
)
CONDITION = rx(r"(?:but )?(?:if|unless|until|once|as soon as)\b")
SHORT_CHOICE = rx(r"(?:then |so )?(?P<choice>[\w][\w ,.°%-]{1,60}?),? (?:then|it is)[.!]$")
TAIL = rx(
    r".*(?:, | because | since | but | and )(?P<tail>i (?:learn|remember|understand|work|concentrate) (?:best|better) .*|i (?:prefer|hate|love|dislike) .*)$"
)
