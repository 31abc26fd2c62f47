"""English verbs: enough to tell a sentence from a fragment and to put "I prefer" into the third person."""

from itertools import pairwise

AUXILIARIES = frozenset(
    """am is are was were be been being has have had having do does did can could will would shall should may might must
    cannot can't won't isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't couldn't wouldn't shouldn't
    it's that's there's what's who's he's she's i'm you're we're they're i've we've you've they've i'll we'll you'll
    they'll he'll she'll it'll i'd we'd""".split()
)

# Forms that are not made by the regular endings.
IRREGULAR = frozenset(
    """became began bent bet bound bled blew broke brought built burnt bought caught chose came cost cut dealt dug drew
    drank drove ate fell fed felt fought found fled flew forbade forgot forgave froze gave gets got ground grew hung heard
    hid hit held hurt kept knew laid led leapt learnt left lent let lay lit lost made meant met paid put quit read rode rang
    rose ran said saw sought sold sent set shook shed shone shot showed shrank shut sang sank sat slept slid spoke sped
    spent spun split spread sprang stood stole stuck stung struck swore swept swam swung took taught tore told thought
    threw understood woke wore wove won wrote has goes does""".split()
)

# Regular bases. A form counts as a verb when it is a base plus s, es, ies, d or ed.
BASES = frozenset(
    """absorb accelerate accept accompany account accumulate achieve acquire act adapt add adjust admit adopt affect agree
    aim allow alter amount analyse analyze announce answer appear apply argue arise arrange arrive ask assemble assign
    associate assume attach attack attract average avoid awake balance base bear beat become begin behave believe belong
    bend benefit bind bite block blow boil borrow break breathe bring build burn buy calculate call cancel capture carry
    cast cause change charge check choose circulate claim classify clean clear climb close collapse collect combine come
    commit communicate compare compete compile complete comprise compute concentrate concern conclude condense conduct
    confirm conflict connect consider consist constrain construct consume contain continue contract contribute control
    convert cook cool correspond cost count cover crash create cross cut cycle damage date deal decay decide declare
    decline decrease define deliver demand denote depend deposit derive describe design destroy detect determine develop
    differ diffuse digest direct disappear discover discuss display dissolve distinguish distribute divide dominate double
    drain draw drink drive drop dry eat emerge emit employ enable encode encourage end enhance ensure enter equal erode
    escape establish evaluate evaporate evolve exceed exchange execute exert exist expand expect experience explain
    explode express extend extract face fail fall feed feel fight fill filter find finish fit fix float flow fold follow
    forbid force form freeze function gain gather generate get give go govern grow guarantee halve handle happen have head
    hear heat help hide hinder hit hold host identify ignore imply improve include increase indicate induce infect inflate
    influence inform inherit inhibit initiate insert insulate integrate interact interpret introduce invade invent involve
    isolate join keep kill know lack last lead leak leap learn leave let lie lift limit link list live load locate lock
    look loop lose lower maintain make manage map mark match matter mean measure melt migrate minimise minimize mix model
    modify move multiply name need obey observe obtain occupy occur open operate oppose orbit order organise organize
    originate outweigh own oxidise oxidize pass pay peak penetrate perform permit persist pick place play point pollinate
    possess power precede precipitate predict prefer prepare present preserve press prevent print proceed process produce
    progress prohibit project promote propose protect prove provide publish pull pump push put quantify quit raise range
    react read receive recognise recognize recover recycle reduce refer reflect refract regulate reject relate release
    rely remain remember remove render repair repeat repel replace replicate report represent reproduce require reside
    resist respond rest restrict result retain return reveal reverse revolve rise rotate run satisfy save say scale scan
    scatter search secrete see seek select sell send separate serve set settle shape share shift shine show shrink signal
    sink sit slide slow solve sort sound speak specify speed spend spin split spread stabilise stabilize stand start state
    stay stem step stick stimulate stop store strengthen stretch strike study subtract succeed suffer suggest suit supply
    support surround survive swap sweep swell swim switch take taste teach tell tend test think tie transfer transform
    translate transmit transport travel treat trigger try turn undergo understand unify unite use utilise utilize vanish
    vary vibrate visit vote wait walk want warm warn wash waste wear weigh widen win work wrap write yield average
    outperform overlap override overwrite reset rebuild refuel commute coincide comply correlate deduct default deploy
    inhabit instruct invest merge negate outnumber own parse persuade ratify rely rent reward shorten simplify soften
    suppress synthesise synthesize tighten validate verify weaken abolish annex appoint conquer crown defeat elect found
    rule sign marry reign invade accuse sponsor flourish introduce spark trade ban tax cede mix forget confuse struggle
    enjoy hate love like dislike favour favor
    dissociate summon mobilise mobilize question dismantle trace fund finance borrow lend cool warm swell shed bloom sprout ripen
    migrate nest hunt prey hatch graze decompose ferment knead bake roast steam simmer fry grate chop season taste drip leach soak
    rinse bleach stain rust corrode crack bend twist stretch compress squeeze tear snap weld solder drill bolt screw glue paint coat
    insulate heat radiate dissipate absorb reflect resonate oscillate spin tilt lean slip slide roll bounce collide orbit eclipse
    encrypt decrypt hash cache compile parse render deploy index query join commit merge branch iterate loop recurse allocate free
    instantiate import export subclass override catch raise throw log trigger listen subscribe poll queue retry throttle paginate
    authenticate authorise authorize sue appeal testify convict acquit sentence fine license notarise terminate renew oblige bind
    diagnose treat prescribe inject infect vaccinate heal bleed clot pump inhale exhale digest secrete excrete metabolise metabolize
    accelerate brake steer land taxi dock sail row pedal shift tow load unload deliver ship export import purchase invoice refund
    narrate rhyme conjugate decline inflect translate spell pronounce stress accent compose conduct tune strum modulate resolve
    symbolise symbolize depict portray evoke criticise criticize praise argue persuade negotiate vote campaign lobby legislate veto
    minimise average sum round truncate approximate converge diverge differentiate integrate factor cancel satisfy intersect bisect
    last matter charge cost weigh measure contain amount range vary lie sit stand hang float sink equal exceed total number""".split()
)

# Bases that read as verbs even without an ending, because no common noun looks like them.
BARE = frozenset(
    """absorb accelerate achieve acquire adapt allow appear apply arise become begin belong bind bring carry choose collect
    combine come compete comprise compute connect consist construct consume contain continue contribute convert create
    cut decrease define deliver depend derive describe destroy detect determine differ disappear dissolve divide eat emerge
    emit enable ensure enter evolve exist expand explain express fail follow generate get give go grow happen have
    help hold imply improve include increase indicate interact involve keep know lead learn let lie live lose make mean
    need obey occur offer open operate pass perform prevent produce provide react receive reduce refer reflect relate
    remain remove replace represent require resist return rise run see send separate serve share show solve speak spread
    stand start stay stop store strengthen succeed support take tend think transfer travel try turn undergo understand use
    vary weaken work write yield share feed sit stick come tell receive behave arrive obtain convert pump own eat grow
    call cause cost protect put read reach rely settle split""".split()
)

_VERB_ENDINGS = ("ates", "ated", "izes", "ized", "ises", "ised", "ifies", "ified", "uces", "uced")
_ADVERBS = frozenset(
    "also always usually often typically generally mostly mainly rarely never only still normally commonly sometimes".split()
)
_PLURALS = frozenset(
    "people children women men bacteria mice fungi police data media feet teeth cattle fish sheep".split()
)
_E_ENDINGS = ("s", "x", "z", "ch", "sh", "o")


def third_person(base: str) -> str:
    """`work` → `works`, `study` → `studies`, `have` → `has`."""
    special = {"have": "has", "do": "does", "go": "goes", "am": "is", "are": "is", "be": "is"}
    if base in special:
        return special[base]
    if base.endswith(_E_ENDINGS):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def is_inflected_verb(word: str) -> bool:
    """True for `absorbs`, `carried`, `split`: a known verb in a finite form that shows."""
    if word in IRREGULAR or (len(word) > 5 and word.endswith(_VERB_ENDINGS)):
        return True
    candidates = []
    if word.endswith("ies") or word.endswith("ied"):
        candidates.append(word[:-3] + "y")
    if word.endswith(("es", "ed")):
        candidates.append(word[:-2])
        if len(word) > 4 and word[-3] == word[-4]:
            candidates.append(word[:-3])
    if word.endswith(("s", "d")):
        candidates.append(word[:-1])
    return any(base in BASES for base in candidates)


def third_person_verb(word: str) -> bool:
    """True for `carries`, `is`, `has`: a form that continues a singular subject."""
    if word in {"is", "has", "does", "was", "can", "cannot", "must", "will", "may"}:
        return True
    return word.endswith("s") and not word.endswith("ss") and is_inflected_verb(word)


def states_something(words: list[str]) -> bool:
    """A stricter test: a verb in the present or an irregular past, not just a participle ("hole drilled")."""
    if words[:1] and words[0] in {"i", "we"}:
        return True
    return any(
        word in AUXILIARIES or word in BARE or (is_inflected_verb(word) and not word.endswith("ed"))
        for word in words[1:]
    ) or any(word in BASES and _may_precede_verb(before) for before, word in pairwise(words))


def has_finite_verb(words: list[str]) -> bool:
    """Whether a list of lower-case words holds something that can be a finite verb."""
    if words[:1] and words[0] in {"i", "we", "they", "you"} and any(word in BASES for word in words[1:4]):
        return True
    if words[:1] and "'" in words[0] and words[0] in AUXILIARIES:
        return True
    if any(word in AUXILIARIES or word in BARE or is_inflected_verb(word) for word in words[1:] or words):
        return True
    return any(word in BASES and _may_precede_verb(before) for before, word in pairwise(words))


def _may_precede_verb(word: str) -> bool:
    """Whether a base form after this word is likely a verb: a plural noun or an adverb stands before it."""
    return (
        word in _ADVERBS
        or word in _PLURALS
        or (len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")))
    )
