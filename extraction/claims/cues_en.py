"""English cues for explanations and reactions; `cues_en_said` holds those for what a learner states."""

from extraction.claims import cues_en_said as said
from extraction.claims.cues import Cues, rx

# Leads that need their comma, colon or dash: without it they may be the subject ("Right angles are …").
_LEAD_WORDS = (
    "well|now|yes|yeah|yep|no|right|exactly|correct|sure|great|perfect|good|fine|thanks|thank you|hi|hello|hey|hmm+|hm|oh|ah|aha|argh|cool"
    "|nice|precisely|true|agreed|of course|in fact|additionally|moreover|furthermore|however|therefore|consequently|in short|in general"
    "|generally|similarly|likewise|lastly|second|secondly|third|thirdly|first|firstly|first of all|finally|importantly|crucially|overall"
    "|by the way|unfortunately|fortunately|interestingly|not quite|not exactly|not always|careful|almost|in other words|put simply"
    "|simply put|strictly speaking|to be precise|one more thing|for the record|fyi|for context|some context|context|background|a correction|one correction|correction"
    "|fair enough|fair point|good point|on the other hand|on the one hand|on the other side|the facts|answer|short answer|next|then|alternatively|that said|rather"
)
# What a learner calls by its kind is no mere lead.
_NAMED_KINDS = "decision|decided?|choice|plan|settled|agreed|lesson|takeaway|open|unclear|tbd|assumption|hypothesis|preference|limit|condition|requirement|constraint|rule"
LEAD = rx(
    r"(?:so|and|but|also|ok|okay|alternatively|actually|basically|essentially|indeed|hence|thus)\b(?! far\b| called| that\b| many\b| much\b|-)(?:,|:|\s*[–—-])?\s+",
    r"(?:yes|no|right|exactly|correct|precisely|true|perfect)[.!]\s+(?=[A-Z])",
    rf"(?:{_LEAD_WORDS})(?:,|:|\s[–—-]|[–—])\s*",
    r"(?:please )?(?:remember|note|notice|recall|keep in mind|bear in mind)(?: also)?(?:,? that)\s+",
    r"(?:the|one) (?:key|main|important|crucial|short|whole|core|central|basic) (?:point|idea|thing|insight|takeaway|answer|reason|fact|trick|rule) (?:here )?(?:is(?: that)?:?)\s+",
    r"(?:the point is|it turns out|this means|that means|which means)(?: that)?\s+",
    r"it is (?:also )?(?:important|worth|useful|good) (?:to note|noting|to know|to remember|to see)(?: that)?\s+",
    r"(?:now |so )?(?:put|see|look at) [^:.,]{2,30}:\s+",
    rf"(?![\w ]*\b(?:{_NAMED_KINDS})\b)[\w ]{{3,20}}:\s+(?=(?:i|we|my|our)\b)",
    r"(?:in (?:summary|short|a nutshell|one sentence)|to (?:sum up|summari[sz]e))[,:]?\s+",
    r"(?:note|definition|key (?:point|idea|fact|takeaway)|fact|remember|important|rule|rule of thumb|law|theorem|in brief|summary|takeaway|result)\s*:\s*",
)

_PRONOUNS = (
    "it|its|it['’]s|this|that|that['’]s|these|those|they|they['’]re|their|them|theirs|he|she|his|her|hers|such|both|neither|either"
    "|another|others?|here|here['’]s|there['’]s|ditto|same|the same|each one|former|latter|the former|the latter"
)
_PREPOSITIONS = (
    "when|if|because|since|while|although|as|once|after|before|unless|until|where|for|with|without|in|at|on|from|by|of|to|like|about"
    "|under|during|through|thanks to|due to|besides|instead of|apart from|and|but|or|despite|even if|only|against|beyond|compared to"
)
ANAPHORA = rx(
    rf"(?:{_PRONOUNS})\b(?!-| turn(?:s|ed) out)",
    r"(?:each|none|all|most|some|many|one|two|both|either|neither|any|part) of (?:them|these|those|this|that|which|it)\b",
    r"(?:\w+|[\d,.]+) of (?:them|these|those)\b",
    r"one (?:way|reason|option|example|thing|more|last|such|is|sentence|of the results)\b",
    r"some (?:are|do|have)\b",
    rf"(?:{_PREPOSITIONS})\s+(?:it|its|it['’]s|this|that|these|those|they|their|them|he|she|him|his|her|both|doing (?:so|this|that)|such|one of (?:them|these))\b(?! (?:is|are) why)",
    r"(?:no|not|yes)[,.:]",
    r"or\b",
    r"(?:starting|beginning|going) [^,]{2,24} (?:it|they|you)\b",
    r"(?:then|next|instead|otherwise|that way|meanwhile|afterwards|later|again|likewise|still(?! (?:undecided|unclear|open|not|need|have|to))|which|who|whose|whereas|e\.g|i\.e|for example|for instance|as a result|together|noted)\b",
    r"as (?:you|we|mentioned|shown|above|before|said|i)\b",
    r"like (?:this|that|before|you)\b",
    r"(?:at|with|on|in|by|for|from|without) [^,]{2,60},? (?:that|this|it) (?:is|was|means|gives|costs|would|makes|saves|holds|leaves)\b",
    r"there (?:it|they|you|we)\b",
    r"(?:at|with|on|in|by|for|from|without|to) [^,]{2,40},? (?:it|they|he|she)\b",
    r"(?:in|at|on|by|with|for|during|from) the same\b",
    r"(?:every|any|no)thing else\b",
)

# Nouns that say nothing without what they belong to: "The margin is …" of what?
_RELATIONAL = (
    "answer|question|result|difference|reason|problem|trick|catch|idea|point|evidence|example|examples|numbers?|name|choice|process|method"
    "|approach|effect|product|formula|equation|solution|pattern|word|term|sentence|total|whole|way|thing|rule|story|picture|cause|steps?"
    "|margin|sum|saving|savings|balance|harm|amount|signal|disadvantages?|advantages?|drawbacks?|downside|upside|benefit|alternatives?"
    "|distance|list|log|test|tests|plan|schedule|reserve|value|price|cost|costs|order|target|claim|argument|proof|conclusion|assumption"
    "|comparison|consequence|exception|table|code|output|input|file|missing \\w+|open question|goal|task|exercise|page|message|text|rest"
    "|opposite|reverse|following|above|figures?|data|details?|drawing|search|service|tool|query|measurements?|data sheet"
)
_ADJECTIVES = "|".join(
    "first second third last next previous other others only short easy easiest simple simplest usual exact remaining bonus new old best worst better worse main key two three four five".split()
)
VAGUE = rx(
    rf"the (?:{_RELATIONAL})\b(?! (?:of|between|that|in|to|for|from|at|called|known|on|by|line|layer|table|type|theory|law|party|bank|set|structure)\b)",
    rf"the (?:{_ADJECTIVES})\b(?! (?:[\w-]+ )?(?:law|rule|world|war|person|derivative|of|between|quantum|amendment|floor|century|language|that|which|who|in|for|party|testament|kingdom|republic|estate)\b)",
    r"(?:example|exercise|task|tip|hint|hypothesis|bonus|tl;?dr|ps|p\.s|quick \w+|try|back|better|worse|easier|harder|faster|slower|cheaper|reliable|the [\d.,]+|step \w+|part \w+|(?:week|session|chapter|round) \d+|option \w|point \d+|rule \d+|day \d+)\b(?=[\s,:.;])(?! than)",
    r"an? (?:[\w-]+ )?(?:proof|example|way|analogy|comparison|picture|hint|trick|test|question|answer|plan|page|list|summary|reminder|step|deviation) (?:is|are|would|for|to|of 0)\b",
    r"[a-z]+, (?:and|but) it\b",
    r"the \w+est, ",
    r"(?:on|about|regarding|concerning|for|as for) [^:,]{3,30}: ",
    r"(?:sounds|looks|seems|makes|next steps?|first steps?)\b",
    r"important (?:is|are)\b",
    r"the (?:\w+ )?(?:question|answer|problem|trick|catch)\b(?! that| is an? )",
    r"(?:two|three|four|several|some) (?:numbers|things|points|reasons|questions|caveats|ideas|words|remarks)\b",
    r"(?:[\w'’-]+ ){1,3}(?:can['’]t|don['’]t|isn['’]t|aren['’]t|won['’]t|doesn['’]t|cannot|(?:has|have|is|are|does|do|can) not|does|do|can)[,.]",
    r"there (?:is|are|was) (?:also )?(?:an?|another|one|two|three|several|many) (?:[\w-]+ ){0,2}(?:problems?|questions?|reasons?|points?|catch|ways?|options?|caveats?|things?|exceptions?|differences?)\b(?! (?:of|for|why)\b)",
    r"[^,;:]{2,40} (?:has|have|there are) (?:two|three|four|five|several|many|some|a few) (?:advantages|reasons|disadvantages|options|problems|effects|consequences|questions|caveats)[.]",
    r"(?:causes|signs|reasons|examples|options|steps|details|questions|results) (?:are|of|is)\b(?! \w+ing)",
    r"(?:what|whatever) (?:could|you|we|matters|counts|helps|is|hurts|remains)\b",
)

DEIXIS = rx(
    r"\b(?:this|that|these|those) (?:example|case|chat|step|lesson|section|question|answer|problem|exercise|quiz|code|snippet|table|message|equation|diagram|picture|figure|conversation|session|plan|draft|sentence|paragraph|trap|objection|trick|test|weather|size|distance|house|list|project|direction|sense)s?\b(?! of)",
    r"\bthe (?:example|chat|lesson|section|quiz|snippet|conversation|session|objection|exercise)s?\b(?! of)|\bof the sentence (?:is|are|was)\b",
    r"(?<!from the )(?<!the )\b(?:above|below)[,.]",
    r"\b(?:earlier[,.]|previously|so far|as mentioned|just (?:saw|said|now)|mentioned|the latter|the former|this one|that one(?! \w)|these two|those two|this time|last time|these (?:into|are|have|can|will))\b",
    r"\b(?:in|with|by|for|on|at|of|from|during|to|under) (?:this|that|these|those)\b(?! (?:which|who))",
    r"\b(?:other|same|second|first|last|next) (?:ones?|words|things|steps|parts|points|options|ideas|terms)\b",
    r"\b(?:two|three|four) (?:words|things|steps|points|ideas|terms) (?:are|is|change|matter)\b",
    r"\b(?:place|option|variant|plan|point|step|scenario|candidate|choice|suggestion|case|node|rule) [A-H\d]\b",
    r"\bit works out\b|\binstead,|\bthere\.$|\bnone of the (?:two|three|four)\b|\bthe agreed\b|\b(?:out )?for (?:two|three|four) reasons\b",
    r"\bas for (?:the|your)\b",
    r"\bthe (?:first|second|third|last) (?:point|step|case|option|rule|item)\b",
    r"^[^,;:]*\b(?:this|these|those) [a-z]+",
    r"^[^,;:]* (?:has|have|had|is|are|of|in|with|to|for|needs?|gives?) that [a-z]+\b",
)

META = rx(
    r"\b(?:let me|let us|let['’]s|we['’]ll|we will|we['’]ve|we just|shall we|i['’]ll|here['’]s|next up|in the next|next time|come back to|for now|good luck|well done)\b",
    r"\b(?:good|great|nice|excellent|interesting) (?:job|question|point|catch|start|starting point|work|instinct|choice|timing|news|result|observation|try|guess)\b",
    r"(?<!when )(?<!while )(?<!if )(?<!where )(?<!before )(?<!because )\byou (?:got|had|were|asked|said|mentioned|wrote|are|attached|described|named)\b",
    r"\byou['’]re (?:right|welcome|close|almost|on)\b",
    r"\b(?:feel free|happy to|hope (?:this|that)|glad|sorry|quiz|lesson|as an ai|language model|memory aid|mnemonic|think of|imagine|suppose|picture (?:a|the|this)|counter-intuitive)\b",
    r"\b(?:almost )?every(?:body|one) guesses\b|\b(?:bonus point|homework|cross out|notebook|poster|flash ?cards?|your turn)\b",
    r"\b(?:search|tool|service|query|request|lookup|page|file|log|attachment|upload|results?) (?:returned|did not answer|didn['’]t answer|failed|contained|speaks)\b",
    r"\binstructions? (?:instead|in it)\b",
    r"\b(?:remember|remind) (?:this|it|me)\b",
    r"\b(?:lovely|great|good|wise|perfect|solid|nice|excellent|brilliant|smart|fine|fun|clever|safe) (?:choice|idea|option|pick|plan|reason|combination|side|rule|call|move)\b(?! (?:of|when|if) )",
    r"^(?:added|removed|fixed|changed|updated|renamed|moved|installed|created|deleted|replaced|booked|sent|checked|searched|ran|tested) (?:the|an?|your|two|three|all|both|it|for)\b",
    r"^(?:substituting|plugging|solving|dividing|multiplying|simplifying|adding|subtracting|inserting)\b.*\b(?:gives?|yields?|leaves?|leads to)\b",
    r"\bso [a-z] = [\d-]|^[a-z] equals\b|\bin total[.,]|^there are \d+ (?:ways|possibilities|combinations|cases|outcomes)\b",
    r"^(?:with|for|at) (?:[\d.,]+|one|two|three|four) .*\b(?:takes?|costs?|is|are|comes? to|makes?|needs?) (?:about |roughly |slightly |around )?[\d.,]+ ?\w* (?:at (?:worst|best)|in all|altogether)\b",
    r"\b(?:find|feel|see|say|do|make) (?:that|it) (?:way|confusing|hard|easy|strange|at first)\b|\bfeel that way\b",
    r"\bif you (?:want|like|wish|prefer|need|tell|have any|send|share)\b",
    r"^(?:noted|done|understood|good|fine|agreed|sure|yes|no)[:,.]? ",
    r"\b(?:is|are) (?:a )?(?:sensible|realistic|reasonable|vernünftig|well-defined|well formulated|well-formulated|worth keeping|the right moment)\b",
)

GREETING = rx(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon)|thanks|thank you|welcome|bye|goodbye|see you|cheers|no problem|you['’]re welcome|sure thing|of course|absolutely|certainly|great|nice|perfect|awesome|congrat\w*)\b[^.]{0,24}[.!]?$",
)

# Words that may stand before "the" or "a" at the start of a statement. Any other word there is a command.
_OPENERS = (
    "a|about|above|across|after|against|all|along|alongside|although|am|among|amongst|and|are|around|as|at|atop|be|because|before|behind"
    "|being|below|beneath|beside|besides|between|beyond|both|but|by|can|compared|considering|concerning|depending|despite|did|do|does|down"
    "|during|each|either|even|ever|every|except|few|following|for|from|given|had|half|has|hence|how|if|in|including|inside|into|is|just|lest"
    "|like|many|may|might|more|most|much|near|nearly|neither|no|nor|not|notwithstanding|now|of|off|often|on|once|one|only|onto|opposite|or"
    "|out|outside|over|owing|past|per|provided|quite|rarely|rather|regarding|roughly|several|should|since|so|some|sometimes|still|such|than"
    "|that|the|then|thereby|though|through|throughout|thus|till|to|together|toward|towards|twice|two|three|under|underneath|unless|unlike"
    "|until|up|upon|usually|versus|via|was|were|what|when|whenever|where|whereas|wherever|whether|which|while|who|whose|why|will|with|within"
    "|without|would|yet|exactly|almost|about|unlike|called|based|today|typically|initially|originally|finally|normally|generally|here|there|also"
)
_COMMANDS = (
    "add|ask|avoid|begin by|bring|calculate|choose|click|consider|decide|delete|describe|do|don['’]t|download|ensure|explain|find|focus on|go"
    "|imagine|install|keep|listen|make|memori[sz]e|never|pick|press|recall|remember|remind|rename|repeat|say|see|select|show|start|stop|subtract"
    "|suppose|take|tell|think|treat|try|upload|use|visit|wait|watch|work out|write|pay attention|attach|count|add up|always|please|simply|let|look|aim|check|leave|stick|swap|put"
    "|read|turn|judge|bleed|wrap|calibrate|expect|run|build|note|plan|combine|compare|open|switch off|switch on|give|get|have|feel|learn"
)
IMPERATIVE = rx(
    rf"(?!(?:{_OPENERS})\b)(?![\w'’-]+ing\b)(?![\w'’-]+ed\b)[a-z][\w'’-]*\s+(?:the|(?-i:a)|an|your|it|them|each|every|all|any|both|two|three|whether|what|how)\s",
    rf"(?:{_COMMANDS})\b(?!-|ing\b)(?! (?:is|are|was|were|has|had|can|will|means?|systems?|theory|law|power|times?|rates?|cases?|works?|helps?|requires?|costs?|statements?|loops?|clauses?|expressions?|operations?|locks?|errors?|functions?|notation|orders?|replicas?|committed|committee)\b)",
    r"first (?!aid|order|class|person|name|and|world|law|of)[a-z]+ (?:the|a|an|some|your|it|all|each)\b",
    r"(?:set|place|point|test|change|move|cover|copy|drop|order|record|report|call|store|time|skip|join|lower|raise|hold|return|follow|limit|adjust|review|mark|name|sort|log|map|mix|measure|multiply|divide|convert|define|draw|fill|cut|replace|create|apply|allow|insert|enter) (?:up|down|out|off|on|into|to|from|with|aside|only|this|these|those|some|one|\d)\b",
    r"(?:to|if|when|before|after|once|for|in order to)\b[^,]{3,90},\s+(?:then |simply |just |always |please )?(?:use|add|take|try|make|write|multiply|divide|subtract|choose|pick|set|run|put|check|keep|go|start|think|consider|look|remember|avoid|do|don['’]t|apply|replace|ask|find|count|draw|build|cut|stop|call|raise|lower|throttle|open|close)\b",
    r"[^.]*, (?:please )?(?:do not|don['’]t) [a-z]+",
    r"[^.]*(?:[;,:]| so|[;,:] so|, and|, but) (?:please |always )?(?:don['’]t|do not|ask|take|use|check|make sure|look|keep|choose|put|insert|remember|compare|try|note|plan|leave|avoid) (?:for|the|a|an|your|it|them|with|that|at|to|up|care|note|push|of|in)\b(?<!to take the)",
)

HEDGE = rx(
    r"\b(?:maybe|perhaps|probably|possibly|presumably|i think|i guess|i believe|i suppose|i['’]m not sure|not sure|my (?:suggestion|recommendation|advice|guess)|recommended|ideally|worth (?:trying|considering|checking|doing)|seems? to me|personally|probably not|should not need)\b",
    r"\bi(?:['’]d| would)? (?:suggest|recommend|advise|propose)\b",
    r"\b(?:you|we) (?:might|may|could|should|can|must|want|will|would|have to|['’]d|don['’]t|won['’]t|also|then|still|only)\b",
    r"^(?!to |for |if )[^,]*\b(?:you|we) need\b",
    r"\bmight (?:want|be worth|be better|help)\b",
    r"\bwould (?:help|suggest|recommend|do|work|be (?:perfectly|better|nice|good|worth|helpful|enough))\b",
    r"\bit(?:['’]s| is| may be| might be) (?:worth|better|best|a good idea|probably|usually best)\b",
    r"\b(?:good|sensible|reasonable|safe|better|best|good first) (?:idea|next step|starting point|compromise|default|first step|method|way|plan|approach|window|bet|choice) (?:is|would|might|here)\b",
    r"\bis (?:a )?(?:good|sensible|reasonable) (?:compromise|idea|plan|way|choice|requirement|start|rule|habit)\b",
    r"^[^,]* (?:is|are) (?:fine|right|ok|okay|correct|wrong)\b(?! (?:angles?|when|if|only))",
)

FIRST_PERSON = rx(
    r"\b[Ii](?:['’](?:m|ve|d|ll))\b",
    r"\bI (?:am|was|have|had|would|will|can|cannot|can['’]t|could|do|don['’]t|did|think|mean|know|see|suggest|recommend|want|need|like|hope|guess|suppose|believe|said|mentioned|gave|told|used|say|call|prefer|assume|answer|also|just|only|ask|asked|made|left|added|read|put|found|recorded|noted|understand|agree|understood|leave|looked|shall)\b",
    r"\b(?:me|myself|[Mm]y|[Oo]ur|[Uu]s)\b",
    flags=0,
)

ADDRESSED = rx(
    r"^(?:you|your|you['’]re|you['’]ve|you['’]ll|yours)\b(?! (?:heart|body|brain|eyes?|blood|lungs?|skin|muscles?|stomach|ears?|liver|kidneys?)\b)",
    r"\byour (?:\w+ )?(?:answers?|questions?|code|notes?|message|example|idea|guess|reasoning|case|counting|objection|teacher|own|claim|report|numbers?|turn|thinking)\b",
    r"\b(?:as|like|that|which|what|and|so|,) you (?:can see|see|know|said|already|saw|have|noticed|just|wrote|mentioned|asked|want|need|prefer|plan|described|feel|get)\b",
    r"\b(?:for|with|to|of) you\b",
    r"\b(?:what|as) you (?:describe|say|write|told|tell)\b",
    r"\b(?:our|your|my) (?:example|chat|step|lesson|section|exercise|quiz|snippet|equation|diagram|picture|figure|conversation|session|draft|sentence|paragraph)s?\b",
)

ACCEPT = rx(
    r"\b(?:got it|gotcha|makes? (?:perfect |total |more |much more |a lot of )?sense(?: now)?|i get (?:it|that)(?: now)?|understood|clear now|all clear|that helps|fair enough|good to know|i follow|that clears it up|that explains (?:it|why|a lot)|that works it out|now it (?:sticks|clicks|is clear)|it clicked|that settles it|convinced now|i accept (?:that|it)|calms me down|ok(?:ay)?,? (?:agreed|clear|convinced)|(?:a )?fair answer)\b",
    r"\bi see(?: it)?(?: now)?(?=[.,!;:]|$| what| why| how)",
    r"\bi understand(?: it| that| now)?(?=[.,!;:]|$| now)",
    r"\b(?:that|this|it)(?:['’]s| is) (?:clear|clearer|much clearer|logical)(?: now)?\b",
    r"\byou(?:['’]ve| have) convinced me\b",
)
UNSURE = rx(
    r"\bnot (?:quite |really |entirely |completely |at all |100% )?sure (?:yet |if |that |about |why |how |what |i |whether |which )",
    r"\b(?:confus(?:es|ed|ing)|(?:mix|mixed|mixing|muddle[sd]?|get) (?:\w+ ){0,6}(?:mixed )?up|keep (?:forgetting|mixing|confusing|getting)|lost me|still unclear|a bit unclear|unclear to me|struggl(?:e|ing)|the same mistake)\b",
    r"\b(?:don['’]t|do not|didn['’]t|still don['’]t) (?:quite |really |fully |entirely |yet )?(?:get|understand|follow|see why|see how|grasp)\b",
    r"\bi(?:['’]m| am) (?:a bit |totally |completely |still )?(?:lost|unsure|confused|stuck)\b",
    r"\bhard(?: for me)? to (?:follow|understand|remember|keep apart|picture)\b",
    r"\bcan(?:['’]t|not) (?:quite |really )?(?:remember|keep|tell (?:them|the two)|picture)\b",
    r"\b(?:i (?:always |often |keep |still )?forget|doesn['’]t make sense to me|not clear (?:to me|yet|why|how)|i had it and then|got (?:that|it|this) wrong)\b",
)
RESIST = rx(
    r"\b(?:don['’]t|do not|can['’]t|cannot) (?:really |quite )?(?:believe|buy|agree|accept)\b",
    r"\bi (?:don['’]t|do not) think\b(?! i (?:understand|get|follow|can))",
    r"\bcan(?:['’]t|not) be (?:right|true|correct|enough)\b",
    r"\bthat(?:['’]s| is) (?:wrong|not right|not true|nonsense|backwards)\b",
    r"\b(?:i disagree|not convinced|unconvinced|makes no sense|hard to believe|sounds wrong|(?:that|this) seems wrong)\b",
    r"\bdoesn['’]t (?:sound|seem|feel|look) (?:right|plausible|true)\b",
    r"\bi(?:['’]d| would)? (?:doubt|dispute|object)\b",
)

CONFIRM = rx(
    r"(?:yes|yep|yeah|exactly|right|correct|precisely|spot on|absolutely|indeed|true|agreed|perfect|quite right|that(?:['’]s| is) (?:right|correct|exactly|it|the)|you(?:['’]ve| have) got it|you got it|well (?:put|done|spotted)|nicely put|just so|(?:good|great|fine|excellent)[.!:,])\b(?!,? (?:but|although|except|question|try|guess|with one|almost))",
    r"you (?:were|are) right\b",
)
DENY = rx(
    r"(?:no|nope|not (?:quite|exactly|really|always|necessarily|entirely)|almost|close|careful|actually|good (?:try|guess|attempt|question)|common (?:mistake|misconception)|partly|nearly|unfortunately|small correction|one correction|incorrect|wrong|hmm|less useful|half right|it depends|(?:yes|right),? but|it(?:['’]s| is) the other way|the other way|the opposite|the old name|the claim is wrong)\b",
    r"i(?:['’]d| would) (?:push back|correct)\b",
    r"that(?:['’]s| is) a (?:really )?(?:common|good|natural|fair|reasonable) (?:mistake|misconception|objection|guess|question|intuition)\b",
)
NEGATION = rx(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot|hardly|\w+n['’]t)\b",
)

CUES = {
    "en": Cues(
        code="en",
        min_chars=20,
        lead=LEAD,
        question=rx(
            r"(?:what|why|how|when|where|who|which|whose|do|does|did|is|are|was|can|could|should|would|will|shall|have|has) (?:you|we|i|it|they|he|she|the|a|an|this|that|there|about|if|many|much)\b[^.]*$"
        ),
        anaphora_start=ANAPHORA,
        vague_start=VAGUE,
        deixis=DEIXIS,
        meta=META,
        greeting_start=GREETING,
        imperative_start=IMPERATIVE,
        hedge=HEDGE,
        first_person=FIRST_PERSON,
        addressed=ADDRESSED,
        accept=ACCEPT,
        unsure=UNSURE,
        resist=RESIST,
        confirm_start=CONFIRM,
        deny_start=DENY,
        negation=NEGATION,
        labels=said.LABELS,
        kinds=said.KINDS,
        own_kinds=said.OWN_KINDS,
        request_start=said.REQUEST,
        never=said.NEVER,
        belief=said.BELIEF,
        about_self=said.ABOUT_SELF,
        owned=said.OWNED,
        short_choice=said.SHORT_CHOICE,
        tail=said.TAIL,
        reason_start=said.REASON,
        alternatives_start=said.ALTERNATIVES,
        action_start=said.ACTION,
        condition_start=said.CONDITION,
    ),
}
