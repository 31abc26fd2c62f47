"""Words that the guards look at, in English, German, French and Spanish.

One list for all languages: a claim is compared with another one, so a word that means something else in the other's
language stands on both sides or makes the two differ. Differing is the safe side.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(text: str) -> dict[str, str]:
    """``"one two: value; three: other"`` as {word: value}."""
    entries = (line.rsplit(":", 1) for line in text.replace("\n", " ").split(";") if line.strip())
    return {word: value.strip() for words, value in entries for word in words.split()}


NEGATIONS = _words(
    """not no never none nobody nothing neither nor without cannot nowhere hardly
    nicht kein keine keinen keiner keinem keines nie niemals nichts niemand ohne weder
    pas jamais aucun aucune rien sans personne ni
    nunca jamás ningún ninguna ninguno nada nadie sin tampoco"""
)
ALWAYS_NOT = _words("never nie niemals jamais nunca jamás")
"""Negations of "always", not of the plain statement."""

# An opposite, as the word it negates: "forbidden" is "not allowed".
OPPOSITES = _table(
    """forbidden prohibited banned disallowed: allowed; impossible: possible; disabled: enabled; unable: able;
    false: true; verboten untersagt: erlaubt; unmöglich: möglich; deaktiviert: aktiviert;
    interdit interdite interdits interdites: autorisé; désactivé désactivée: activé;
    prohibido prohibida: permitido; imposible: posible; desactivado desactivada: activado"""
)
SYNONYMS = _table(
    """permitted: allowed; gestattet: erlaubt; autorisée autorisés permis permise: autorisé; permitida: permitido;
    activée: activé; activada: activado; favorite: favourite; color: colour; postgres: postgresql; e-mail mail: email"""
)

MODALITY = _table(
    """must needs need required requires obliged mandatory muss müssen musst müsst notwendig erforderlich doit doivent dois
    devons devez faut debe deben debo debemos obligatorio hay: must;
    may darf dürfen darfst permit: may;
    can able could kann können kannst könnte könnten konnte peut peuvent peux pouvons pourrait puede pueden puedo podemos
    podría: can;
    should ought shall supposed soll sollen sollte sollten sollst devrait devraient devrais devrions debería deberían
    deberíamos: should;
    might maybe perhaps possibly probably likely vielleicht wahrscheinlich möglicherweise eventuell peut-être probablement
    sans-doute quizás quizá acaso probablemente posiblemente: might;
    would würde würden: would;
    want wants wish wishes hope hopes möchte möchten will-haben veut veux veulent voudrais voudrait quiero quiere quieren
    quisiera: want;
    try tries consider considering plan plans planning intend intends plane planen: intend"""
)
QUANTIFIERS = _table(
    """all every each always everybody everyone everything entire whole alle alles jede jeder jedes jeden jedem immer stets
    sämtliche tous toutes toute chaque toujours todos todas siempre cada: all;
    some several sometimes occasionally einige manche manchmal mehrere quelques certains certaines parfois plusieurs
    algunos algunas unos unas varios varias: some;
    most mostly usually often generally typically frequently meist meistens oft häufig normalerweise plupart souvent
    généralement habituellement mayoría normalmente generalmente frecuentemente menudo: most;
    few little rarely seldom wenig wenige selten peu rarement pocos pocas poco raramente: few;
    many much lots viele viel vielen beaucoup muchos muchas mucho mucha: many;
    any irgendein irgendeine quelconque cualquier cualquiera: any;
    only solely exclusively nur ausschließlich lediglich seulement uniquement solo sólo solamente únicamente: only;
    both beide beiden ambos ambas: both; half halb halbe moitié mitad: half; or oder ou o u: or;
    least mindestens moins menos: least; about approximately around roughly nearly almost circa ungefähr etwa fast environ
    presque aproximadamente casi: about; exactly genau exactement exactamente: exactly; up bis jusqu hasta: upto;
    twice doppelt zweimal deux-fois dos-veces double doble: twice"""
)
COMPARATIVES = _table(
    """more mehr plus más: more; less fewer weniger: less; better besser mieux meilleur meilleure mejor: better;
    worse schlechter pire peor: worse; higher höher supérieur superior: higher; lower niedriger inférieur inferior: lower;
    faster schneller: faster; slower langsamer: slower; larger bigger größer: larger; smaller kleiner: smaller;
    longer länger: longer; shorter kürzer: shorter; earlier früher: earlier; later später: later; best beste besten: best;
    worst schlechteste schlechtesten: worst; than als: than; as wie comme: as; too zu trop demasiado: too;
    enough genug assez bastante suficiente: enough; same gleich gleiche même mismo misma: same"""
)
TENSE = _table(
    """was were had did wasn weren war waren hatte hatten wurde wurden était étaient avait avaient étais fut
    era eran fue fueron estaba estaban había tenía: past;
    will going-to gonna wird werden werde sera seront sera será serán va vont va-a van-a vais: future;
    used-to formerly previously früher ehemals ehemalig autrefois auparavant antes antiguamente: formerly;
    perfect-tense: perfect; ago vor-zeit: ago; still noch encore toujours-encore todavía aún: still; already schon bereits déjà ya: already;
    yet: yet; again wieder nouveau nuevo: again; until bis-zu jusqu-à hasta-que: until; since seit depuis desde: since;
    before bevor vorher avant: before; after nachdem danach après después: after; during während pendant durante: during"""
)
ENDED = "no-longer"
"""One mark for "no longer", "nicht mehr", "ne … plus" and "ya no"."""
TIME_NOW = _words(
    """now currently nowadays today's meanwhile jetzt nun derzeit aktuell inzwischen mittlerweile momentan maintenant
    désormais actuellement dorénavant ahora actualmente"""
)
CHANGED = _words(
    """now instead anymore jetzt nun stattdessen inzwischen mittlerweile neuerdings maintenant désormais dorénavant ahora
    changed moved raised lowered increased reduced extended postponed rescheduled updated geändert verschoben erhöht gesenkt
    changé changée repoussé repoussée cambió cambiado"""
)
"""What a claim says when something is otherwise than before."""
ALSO = _words("also too additionally besides part-time auch zusätzlich außerdem aussi également también además")
"""What a claim says when it stands beside another one."""

DATES = _table(
    """january jan januar jänner janvier enero: january; february feb februar février febrero: february;
    march mar märz mars marzo: march; april apr avril abril: april; mai mayo: may; june jun juni juin junio: june;
    july jul juli juillet julio: july; august aug août agosto: august;
    september sep sept septembre septiembre: september; october oct oktober okt octobre octubre: october;
    november nov novembre noviembre: november; december dec dezember dez décembre diciembre: december;
    monday mondays montag montags lundi lunes: monday; tuesday tuesdays dienstag dienstags mardi martes: tuesday;
    wednesday wednesdays mittwoch mittwochs mercredi miércoles: wednesday;
    thursday thursdays donnerstag donnerstags jeudi jueves: thursday; friday fridays freitag freitags vendredi viernes: friday;
    saturday saturdays samstag samstags samedi sábado: saturday; sunday sundays sonntag sonntags dimanche domingo: sunday;
    today heute aujourd'hui hoy: today; tomorrow morgen demain mañana: tomorrow; yesterday gestern hier ayer: yesterday;
    next nächste nächsten nächster nächstes prochain prochaine próximo próxima: next;
    last letzte letzten letzter letztes dernier dernière pasado pasada último: last;
    spring frühling printemps primavera: spring; summer sommer été verano: summer; autumn fall herbst automne otoño: autumn;
    winter hiver invierno: winter; morning morgens vormittag matin: morning; afternoon nachmittag après-midi: afternoon;
    evening abend abends soir tarde: evening; night nacht nachts nuit noche: night; noon mittag mittags midi mediodía: noon;
    midnight mitternacht minuit medianoche: midnight"""
)
UNITS = _table(
    """% percent prozent pourcent porciento: percent; € eur euro euros: eur; $ usd dollar dollars dólares: usd;
    £ gbp pound pounds pfund: gbp; ms millisecond milliseconds: ms; s sec second seconds sekunde sekunden seconde secondes
    segundo segundos: second; min minute minutes minuten minuto minutos: minute;
    h hour hours stunde stunden heure heures hora horas: hour; day days tag tage tagen jour jours día días: day;
    week weeks woche wochen semaine semaines semana semanas: week; month months monat monate monaten mois mes meses: month;
    year years jahr jahre jahren an ans année années año años: year; kg kilogram kilograms kilo kilos: kg; g gram grams: g;
    mg: mg; t ton tons tonne tonnes: t; km kilometre kilometres kilometer kilometers: km; m metre metres meter meters: m;
    cm: cm; mm: mm; mile miles: mile; l litre litres liter liters: l; ml: ml; kb: kb; mb: mb; gb: gb; tb: tb; kib: kib;
    mib: mib; gib: gib; °c celsius: celsius; °f fahrenheit: fahrenheit; k kelvin: kelvin; v volt volts: volt;
    w watt watts: watt; kw: kw; kwh: kwh; hz hertz: hz; khz: khz; mhz: mhz; ghz: ghz; pa: pa; hpa: hpa; bar: bar;
    j joule joules: joule; kj: kj; n newton newtons: newton; mol: mol; token tokens: token; px pixel pixels: px; am: am; pm: pm"""
)
NUMBER_WORDS = _table(
    """zero null zéro cero: 0; two zwei deux dos: 2; three drei trois tres: 3; four vier quatre cuatro: 4;
    five fünf cinq cinco: 5; six sechs seis: 6; seven sieben sept siete: 7; eight acht huit ocho: 8; nine neun neuf nueve: 9;
    ten zehn dix diez: 10; eleven elf onze once: 11; twelve zwölf douze doce: 12; thirteen dreizehn treize trece: 13;
    fourteen vierzehn quatorze catorce: 14; fifteen fünfzehn quinze quince: 15; sixteen sechzehn seize dieciséis: 16;
    seventeen siebzehn diecisiete: 17; eighteen achtzehn dieciocho: 18; nineteen neunzehn diecinueve: 19;
    twenty zwanzig vingt veinte: 20; thirty dreißig trente treinta: 30; forty vierzig quarante cuarenta: 40;
    fifty fünfzig cinquante cincuenta: 50; sixty sechzig soixante sesenta: 60; seventy siebzig setenta: 70;
    eighty achtzig ochenta: 80; ninety neunzig noventa: 90; hundred hundert cent cien ciento: 100;
    thousand tausend mille mil: 1000; million millionen millions millón millones: 1000000; dozen dutzend douzaine docena: 12;
    first erste ersten erster premier première primero primera: 1st; second-ordinal zweite zweiten zweiter deuxième
    segundo-ordinal: 2nd; third dritte dritten dritter troisième tercero tercera: 3rd; fourth vierte vierten quatrième: 4th;
    fifth fünfte fünften cinquième quinto quinta: 5th"""
)

SELF = _words(
    """i me my mine myself we us our ours ourselves ich mich mir mein meine meinen meinem meiner meines wir uns unser unsere
    unseren unserem unserer je moi mon ma mes nous notre nos j m yo mí mi mis nosotros nosotras nos nuestro nuestra
    nuestros nuestras"""
)
POSSESSIVE = _words(
    """my our mine mein meine meinen meinem meiner meines unser unsere unseren unserem unserer mon ma mes notre nos mi mis nuestro
    nuestra nuestros nuestras"""
)
BE = _words(
    "is are am be been being bin bist ist sind seid sein est sont suis sommes êtes être es son soy somos ser está están"
)
STOP = _words(
    """a an the this that these those which who whom it its itself there and so then just really actually basically simply
    indeed please does do done s ll ve re d t an
    der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen diesem dass welche welcher welches
    und also so dann eigentlich einfach halt eben sich
    le la les l un une des du ce cet cette ces c ça qui que qu et donc alors vraiment simplement se y ne n d
    el los las lo una este esta estos estas ese esa esos esas que quien y e entonces realmente simplemente se"""
)
# What a phrase is to its sentence; a phrase with one may stand elsewhere in it.
PREPOSITIONS = _words(
    """of to in on at for with by from into onto over under about between through against per via within upon towards behind
    near across off out
    von vom im in auf für mit bei beim durch aus über unter zwischen gegen zum zur nach um hinter neben
    de du dans sur pour avec par chez vers contre entre sous à au aux en
    del en para por con sobre contra al bajo hacia"""
)

DECIDING = _words(
    """decide decides decided deciding decision chose choose chosen choosing picked pick picks use uses used using go going
    goes went settled settle opted opt adopt adopted adopting take taking agreed agree selected select stick sticking
    entschieden entscheiden entscheidung gewählt wählen nehmen verwenden nutzen benutzen beschlossen einsetzen
    décidé décidons décision choisi choisissons utiliser utilisons utilise prendre prenons opté adopté
    decidido decidimos decisión elegido elegimos elegir usar usamos utilizar utilizamos optamos optado adoptado have has
    haben habe hat avons a ai hemos he"""
)
"""How a decision is told, not what it is."""

FUNCTIONAL = _words(
    """deadline due limit budget price cost fee rate salary rent version port timeout quota maximum minimum target goal
    meeting appointment exam interview launch release address email phone number name employer job manager boss owner lead
    favourite default preferred headquarters office hometown size capacity interval frequency schedule duration age weight
    height
    frist abgabefrist stichtag grenze limit grenzwert budget preis kosten gebühr miete gehalt version termin prüfung treffen
    besprechung ziel adresse telefonnummer arbeitgeber chef chefin lieblingsfarbe standard wohnort höchstwert größe dauer alter
    date-limite délai échéance limite prix coût loyer salaire réunion examen objectif adresse numéro employeur responsable préféré
    préférée défaut taille durée âge
    plazo límite fecha-límite presupuesto precio costo coste alquiler salario versión reunión examen objetivo dirección
    teléfono correo empleador jefe jefa favorito favorita predeterminado tamaño duración edad"""
)
"""Heads of what has one value at a time: a later value takes the place of an earlier one."""

PREFERRING = _words(
    """prefer prefers preferred use uses using favour favours bevorzuge bevorzugt bevorzugen nutze nutzt verwende verwendet
    benutze benutzt préfère préfèrent préfères utilise utilisent utilisons prefiero prefiere preferimos uso usa usamos utilizo
    utiliza utilizamos"""
)
"""Verbs whose object is one at a time for the same purpose."""
DURATIONS = frozenset({"minute", "hour", "day", "week", "month", "year"})
