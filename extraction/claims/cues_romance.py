"""Spanish, French, Portuguese and Italian cues."""

from extraction.claims.cues import Cues, rx
from extraction.claims.cues_terse import widened

ES = Cues(
    code="es",
    min_chars=26,
    min_words=5,
    lead=rx(
        r"(?:bueno|sí|no|vale|ok|claro|exacto|correcto|perfecto|entonces|además|por cierto|en resumen|hola|gracias|así que|muy bien[!.,]|casi|cuidado|de acuerdo|recuerda|nota|importante)(?:,|:|\s[–—-]|[–—]|!)\s*",
        r"(?:y|pero|así que)\s+(?=[a-záéíóúñ])",
        r"(?:recuerda|ten en cuenta|fíjate en|observa|hay que recordar|es importante saber) que\s+",
    ),
    question=rx(r"¿"),
    anaphora_start=rx(
        r"(?:esto|eso|esta|este|estos|estas|ese|esa|esos|esas|aquello|ello|él|ella|ellos|ellas|lo|le|les|se (?:llama|trata|debe|usa|hace|puede)|su|sus|ambos|ambas|ahí|aquí|allí|así|tal|tales|otro|otra|otros|otras|luego|después|entonces|por eso|por ello|por lo tanto|además|también|en cambio|por ejemplo|en este|en esta|en ese|en esa|con esto|con eso|de esta|de este|de ahí|como (?:ves|vimos|dije)|el primero|el segundo|la primera|la segunda|el mismo|la misma|la respuesta|la pregunta|el resultado|la diferencia|la razón|el truco|los dos|las dos|uno de ellos|una de ellas)\b(?! (?:de|del|ley|guerra|que|entre)\b)",
        r"(?:cuando|si|porque|aunque|como|para|sin|con|desde|hasta|por|en|de|a) (?:esto|eso|ello|ella|él|ellos|ellas|este|esta|estos|estas|ese|esa)\b",
        r"(?:es|son|está|están|era|fue|tiene|tienen|hace|sirve|sirven|contiene|puede|pueden|depende|significa|ocurre|permite|ayuda|llamamos)\b",
    ),
    deixis=rx(
        r"\b(?:este ejemplo|esta (?:pregunta|lección|respuesta|frase)|este (?:caso|paso|chat)|(?:arriba|abajo)[,.]|como (?:dije|vimos|mencioné)|anteriormente|tu (?:respuesta|pregunta|idea|frase|duda|plan))\b"
    ),
    meta=rx(
        r"\b(?:vamos a|veamos|te (?:explico|pregunto|propongo|recomiendo|sugiero)|déjame|dejame|buena pregunta|muy bien[!.,]|bien hecho|excelente|en la próxima|siguiente paso|ahora (?:te|vamos|pasamos)|imagina|piensa en|lección|cuestionario|truco para recordar|espero|puedo|quieres|tienes razón|has (?:dicho|entendido|acertado))\b"
    ),
    greeting_start=rx(
        r"(?:hola|buenos días|buenas|gracias|de nada|adiós|perfecto|genial|claro|por supuesto)\b[^.]{0,30}[.!]?$"
    ),
    imperative_start=rx(
        r"(?:usa|utiliza|toma|haz|escribe|lee|piensa|recuerda|añade|prueba|intenta|mira|calcula|compara|elige|pon|evita|repite|practica|considera|empieza|divide|multiplica|suma|resta|deja|busca|no (?:uses|olvides|confundas|hagas))\b"
    ),
    hedge=rx(
        r"\b(?:quizás?|tal vez|probablemente|posiblemente|podrías|deberías|puedes|te recomiendo|te sugiero|yo (?:usaría|haría|diría)|sería (?:mejor|bueno)|conviene|creo que|lo mejor es)\b"
    ),
    first_person=rx(r"\b(?:yo|mi|mis|me|conmigo|nuestro\w*|nosotros)\b"),
    addressed=rx(r"\b(?:tú|te|ti|contigo|usted(?:es)?)\b"),
    accept=rx(
        r"\b(?:entiendo|entendido|ya (?:veo|entiendo|lo entiendo|está claro)|tiene sentido|me queda claro|queda claro|claro|comprendo|de acuerdo|tiene lógica|ahora sí)\b"
    ),
    unsure=rx(
        r"\b(?:no (?:estoy segur[oa]|entiendo|lo entiendo|me queda claro|tengo claro)|me confund\w+|confundo|me lío|todavía dudo|me cuesta|siempre olvido|se me olvida)\b"
    ),
    resist=rx(
        r"\b(?:no (?:creo|me creo|estoy de acuerdo|puede ser|me convence|es cierto|es verdad|tiene sentido)|eso (?:es falso|está mal)|lo dudo)\b"
    ),
    confirm_start=rx(
        r"¡?(?:exacto|exactamente|correcto|sí|eso es|así es|perfecto|muy bien[!.,]|cierto|efectivamente)\b(?!,? pero)"
    ),
    deny_start=rx(r"¡?(?:no|casi|cuidado|no exactamente|en realidad|incorrecto|no del todo|no siempre|sí, pero)\b"),
    negation=rx(r"\b(?:no|nunca|ningún|ninguna|nada|sin|tampoco|jamás)\b"),
    kinds=(
        (
            "lesson",
            rx(
                r"\b(?:aprendí que|aprendimos que|hemos aprendido|lección(?: aprendida)?:|la próxima vez|el error fue|resulta que|resultó que|a posteriori)"
            ),
        ),
        (
            "open_question",
            rx(
                r"\b(?:pregunta abierta|queda (?:abierto|pendiente|por)|aún no (?:sabemos|sé|está claro|hemos decidido)|todavía no (?:sabemos|sé|está claro|hemos decidido)|falta (?:saber|decidir|confirmar)|tenemos que averiguar|hay que averiguar|pendiente de)\b"
            ),
        ),
        (
            "decision",
            rx(
                r"\b(?:hemos decidido|he decidido|decidimos|decidí|decisión:|hemos elegido|elegimos|he elegido|hemos acordado|acordamos|nos quedamos con|me quedo con|vamos a usar|voy a usar|optamos por|opto por)"
            ),
        ),
        (
            "working_assumption",
            rx(
                r"\b(?:suponiendo|supongamos|supongo que|suponemos que|asumimos|asumo|asumiendo|suposición|hipótesis|probablemente|por ahora (?:asumo|suponemos))\b"
            ),
        ),
        (
            "preference",
            rx(
                r"\b(?:prefiero|preferimos|me gusta(?:n)? (?:más )?|me encanta(?:n)?|odio|no me gusta(?:n)?|mi \w+ favorit[oa]|siempre (?:quiero|uso|prefiero)|aprendo mejor|siempre en|me resulta más fácil)\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:debe(?:n|mos)?|tiene(?:n)? que|no puede(?:n|mos)?|no puedo|como máximo|máximo|mínimo|al menos|a lo sumo|no más de|menos de \d|presupuesto|plazo|fecha límite|a más tardar|límite|prohibido|obligatorio|solo puedo|solo podemos|alérgic[oa])\b"
            ),
        ),
    ),
    request_start=rx(
        r"(?:puedes|podrías|explica\w*|dime|ayuda\w*|muéstra\w*|qué|cómo|por qué|cuándo|dónde|quién|cuál|por favor)\b"
    ),
    never=rx(
        r"\b(?:quiero|quisiera|me gustaría|necesito) (?:\w+ )?(?:saber|entender|aprender|preguntar|ver|que me|ayuda)\b",
        r"\b(?:tengo que|debo) (?:irme|ir|entender|estudiar más|pensar)\b",
        r"\bme gusta (?:eso|esa|ese|esta|este|la idea|cómo)\b",
    ),
    belief=rx(r"(?:ya )?(?:sé|sabía|aprendí) que\s+"),
    about_self=rx(
        r"(?:soy|vivo|trabajo|estudio|enseño|tengo (?:un|una|dos|tres|cuatro|\d|alergia|años)|toco|hablo|uso|llevo \w+|estoy (?:preparando|aprendiendo|estudiando|trabajando|escribiendo)|siempre confundo|confundo)\b",
        r"(?:mi|mis|nuestro|nuestra|nuestros|nuestras) \w+(?: \w+){0,3} (?:es|son|tiene|tienen|está|están|vive|cuesta|usa|fue|era)\b",
        r"(?:tenemos|somos|vivimos|usamos|trabajamos)\b",
    ),
    owned=rx(r"\b(?:yo|mi|mis|nosotros|nuestr\w+|tenemos|somos)\b"),
)

FR = Cues(
    code="fr",
    min_chars=26,
    min_words=5,
    lead=rx(
        r"(?:oui|non|ok|d'accord|d’accord|exactement|exact|bien|très bien|parfait|alors|donc|bref|en fait|en résumé|de plus|par ailleurs|bonjour|merci|attention|presque|pas tout à fait|note|rappel|important|bien sûr)(?:,|\s?:|\s[–—-]|[–—]|\s?!)\s*",
        r"(?:et|mais|donc|car)\s+(?=[a-zàâéèêëîïôûùç])",
        r"(?:rappelle-toi|rappelez-vous|note|notez|retiens|retenez|n'oublie pas|n’oublie pas) que\s+",
    ),
    question=rx(r"(?:est-ce|qu'est-ce|qu’est-ce|pourquoi|comment|quand|où|qui|quel\w*|combien)\b[^.]*$"),
    anaphora_start=rx(
        r"(?:il|elle|ils|elles|ce|cet|cette|ces|cela|ça|ceci|celui|celle|ceux|celles|c'est|c’est|c'était|c’était|ce sont|son|sa|ses|leur|leurs|on (?:l|la|le|les|y|en|appelle|parle)|y|en|là|ici|ainsi|tel|telle|tous deux|les deux|l'un|l’un|l'une|l’une|l'autre|l’autre|puis|ensuite|alors|donc|d'où|d’où|par exemple|dans ce|dans cette|dans ces|de ce|de cette|avec cela|pour cela|pour cette|à ce|à cette|le premier|la première|le second|la seconde|le dernier|la dernière|le même|la même|la réponse|la question|le résultat|la différence|la raison|l'astuce|sinon|à la place|au contraire|de même)(?![\w])(?! (?:existe|y a|faut|guerre|loi|de|du|entre|que)\b)",
        r"(?:quand|si|parce qu|comme|pour|sans|avec|depuis|par|en|de|à|lorsqu|puisqu)['’ ]?(?:il|elle|ils|elles|ce|cette|ces|cela|ça|celui|celle)\b",
        r"il (?:existe|y a) (?:aussi|donc|alors|là)\b",
    ),
    deixis=rx(
        r"\b(?:cet exemple|cette (?:question|leçon|réponse|phrase|étape)|ce (?:cas|chat)|ci-dessus|ci-dessous|comme (?:dit|vu|mentionné)|précédemment|(?:ta|votre) (?:réponse|question|idée|phrase)|ton (?:idée|exemple|plan|projet)|tes|tout à l'heure|tout à l’heure)\b"
    ),
    meta=rx(
        r"\b(?:je (?:vais|peux|propose|te|vous|pense|crois|recommande|suggère)|voyons|regardons|commençons|passons|prenons|continuons|laisse-moi|laissez-moi|bonne question|bravo|bien joué|la prochaine fois|prochaine étape|imagine|imaginez|pense à|pensez à|leçon|quiz|moyen mnémotechnique|j'espère|j’espère|tu as (?:raison|bien|dit|compris)|vous avez (?:raison|bien|dit|compris)|voici|voilà)\b"
    ),
    greeting_start=rx(
        r"(?:bonjour|salut|bonsoir|merci|de rien|au revoir|parfait|super|bien sûr|avec plaisir)\b[^.]{0,30}[.!]?$"
    ),
    imperative_start=rx(
        r"(?:prends|prenez|utilise|utilisez|ajoute|ajoutez|fais|faites|écris|écrivez|lis|lisez|pense|pensez|essaie|essayez|regarde|regardez|calcule|calculez|compare|comparez|choisis|choisissez|mets|mettez|évite|évitez|retiens|retenez|répète|répétez|divise|divisez|multiplie|multipliez|cherche|cherchez|garde|gardez|commence|commencez|n'oublie|n’oublie|ne \w+ pas)\b"
    ),
    hedge=rx(
        r"\b(?:peut-être|probablement|sans doute|tu (?:peux|pourrais|devrais|dois)|vous (?:pouvez|pourriez|devriez|devez)|je (?:recommande|conseille|suggère|dirais)|il vaut mieux|il serait|mieux vaut|on pourrait|le mieux est)\b"
    ),
    first_person=rx(r"\b(?:je|j['’]|moi|mon|ma|mes|me|m['’]|notre|nos)(?!\w)"),
    addressed=rx(r"\b(?:tu|toi|ton|ta|tes|te|vous|votre|vos)\b"),
    accept=rx(
        r"(?:\b(?:je (?:comprends|vois)|compris|d['’]accord|c['’]est (?:clair|logique|noté|plus clair)|ça a du sens|entendu|je saisis)\b)"
    ),
    unsure=rx(
        r"\b(?:je ne (?:suis pas (?:sûr|sûre|certain|certaine)|comprends (?:pas|toujours pas)|vois pas)|pas (?:très |encore )?(?:clair|sûr)|je (?:confonds|mélange|m'embrouille|oublie)|c['’]est confus|j['’]ai du mal|je m['’]y perds)\b"
    ),
    resist=rx(
        r"\b(?:je n['’]y crois pas|je ne (?:crois pas|suis pas d['’]accord|suis pas convaincue?)|ce n['’]est pas (?:vrai|possible|juste)|c['’]est faux|ça ne peut pas|j['’]en doute|impossible)\b"
    ),
    confirm_start=rx(
        r"(?:exactement|exact|oui|tout à fait|c['’]est (?:ça|exact|juste)|correct|parfait|très bien|bien vu|en effet|juste)\b(?!,? mais)"
    ),
    deny_start=rx(
        r"(?:non|pas (?:tout à fait|exactement|vraiment|toujours)|presque|attention|en fait|incorrect|oui,? mais|malheureusement)\b"
    ),
    negation=rx(r"\b(?:pas|jamais|aucune?|rien|sans|ni|plus de|non)\b"),
    kinds=(
        (
            "lesson",
            rx(
                r"\b(?:j['’]ai appris|nous avons appris|on a appris|leçon(?: \w+)?\s?:|la prochaine fois|l['’]erreur (?:était|a été)|il s['’]avère|avec le recul|plus jamais)"
            ),
        ),
        (
            "open_question",
            rx(
                r"\b(?:question ouverte|reste (?:ouvert\w*|à (?:décider|savoir|voir|vérifier|trouver))|(?:on ne sait|nous ne savons|je ne sais) pas encore|il faut encore (?:décider|vérifier|demander|savoir)|pas encore (?:décidé|tranché|clair))\b"
            ),
        ),
        (
            "decision",
            rx(
                r"\b(?:(?:nous avons|on a|j['’]ai) (?:finalement |donc )?(?:décidé|choisi|opté|retenu|convenu)|décision\s?:|on (?:part|reste) (?:sur|avec)|nous (?:partons|restons) (?:sur|avec)|je (?:pars sur|prends|choisis)|nous choisissons|la décision est)"
            ),
        ),
        (
            "working_assumption",
            rx(
                r"\b(?:supposons|je suppose|nous supposons|on suppose|en supposant|hypothèse|probablement|à supposer|pour l['’]instant (?:je|on|nous) (?:suppose|pars|part|partons))\b"
            ),
        ),
        (
            "preference",
            rx(
                r"\b(?:je préfère|nous préférons|on préfère|j['’]aime (?:mieux|bien)?|j['’]adore|je déteste|je n['’]aime pas|mon \w+ préféré|ma \w+ préférée|j['’]apprends mieux|je veux toujours|toujours en)\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:doit|doivent|devons|ne (?:peut|peuvent|pouvons|peux|doit|doivent) (?:pas|[\w-]+ que)|ne dépasse(?:nt)? pas|il faut que|au (?:plus|maximum|moins)|maximum|minimum|pas plus de|moins de \d|budget|délai|date limite|au plus tard|avant le \d|limite|interdit|obligatoire|allergique)\b"
            ),
        ),
    ),
    request_start=rx(
        r"(?:peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|explique\w*|dis-moi|aide\w*|montre\w*|pourquoi|comment|quand|où|qui|quel\w*|est-ce|s'il te plaît|s’il te plaît)\b"
    ),
    never=rx(
        r"\b(?:je (?:veux|voudrais|souhaite)|j['’]aimerais) (?:\w+ )?(?:savoir|comprendre|apprendre|demander|voir|que tu|que vous)\b",
        r"\bje dois (?:y aller|partir|comprendre|réfléchir)\b",
        r"\bj['’]aime (?:bien )?(?:ça|cela|cette|cet|ce|l['’]idée)\b",
    ),
    belief=rx(r"je (?:sais|savais)(?: déjà)? que\s+", r"j['’]ai appris que\s+"),
    about_self=rx(
        r"(?:je (?:suis (?!d['’]accord|sûre?|perdue?|prête?|désolée?|contente?|curieu|pas|bloqu|en train|confus)[\w-]+|travaille|vis|habite|étudie|joue|parle|utilise|prépare|confonds|enseigne)|j['’](?:ai (?:un|une|deux|trois|quatre|\d+|seulement|déjà)|habite|étudie|apprends|enseigne|utilise))\b",
        r"(?:mon|ma|mes|notre|nos) \w+(?: \w+){0,3} (?:est|sont|a|ont|coûte|utilise|fonctionne|était|vit|habite)\b",
        r"nous (?:avons|sommes|habitons|utilisons|travaillons)\b",
    ),
    owned=rx(r"\b(?:je|j['’]|mon|ma|mes|nous|notre|nos)"),
)

PT = Cues(
    code="pt",
    min_chars=28,
    min_words=5,
    lead=rx(
        r"(?:sim|não|ok|certo|exato|exatamente|então|bem|muito bem[!.,]|além disso|aliás|em resumo|olá|oi|obrigad[oa]|claro|quase|cuidado|lembre-se)(?:,|:|\s[–—-]|[–—]|!)\s*",
        r"(?:e|mas)\s+(?=[a-záâãéêíóôõúç])",
    ),
    question=rx(r"(?:o que|por que|como|quando|onde|quem|qual|quais|quanto\w*)\b[^.]*\?$"),
    anaphora_start=rx(
        r"(?:ele|ela|eles|elas|isto|isso|aquilo|este|esta|estes|estas|esse|essa|esses|essas|seu|sua|seus|suas|nele|nela|nisso|disso|ambos|ambas|ali|aqui|lá|assim|tal|outro|outra|depois|então|por isso|portanto|além disso|também|por exemplo|nesse|nessa|neste|nesta|desse|dessa|com isso|o primeiro|o segundo|a primeira|a segunda|o mesmo|a mesma|a resposta|a pergunta|o resultado|a diferença|a razão|os dois|as duas)\b(?! (?:de|do|da|lei|guerra|que|entre)\b)",
        r"(?:quando|se|porque|embora|como|para|sem|com|por|em) (?:isso|isto|ele|ela|eles|elas|esse|essa|este|esta)\b",
        r"(?:é|são|está|estão|era|foi|tem|têm|serve|contém|pode|podem|depende|significa|ocorre|permite)\b",
    ),
    deixis=rx(
        r"\b(?:este exemplo|esse exemplo|esta pergunta|(?:acima|abaixo)[,.]|como (?:disse|vimos)|anteriormente|(?:sua|tua) (?:resposta|pergunta|ideia)|seu plano)\b"
    ),
    meta=rx(
        r"\b(?:vamos|vejamos|deixe-me|boa pergunta|muito bem[!.,]|parabéns|na próxima|próximo passo|imagine|pense em|lição|posso|espero|você (?:tem razão|disse|acertou|entendeu)|aqui está)\b"
    ),
    greeting_start=rx(
        r"(?:olá|oi|bom dia|boa (?:tarde|noite)|obrigad[oa]|de nada|tchau|perfeito|claro)\b[^.]{0,30}[.!]?$"
    ),
    imperative_start=rx(
        r"(?:use|utilize|faça|escreva|leia|pense|lembre|adicione|tente|veja|calcule|compare|escolha|coloque|evite|repita|considere|comece|divida|multiplique|não (?:use|esqueça|confunda))\b"
    ),
    hedge=rx(
        r"\b(?:talvez|provavelmente|possivelmente|você (?:pode|poderia|deveria|deve)|recomendo|sugiro|eu (?:usaria|faria|diria)|seria (?:melhor|bom)|acho que)\b"
    ),
    first_person=rx(r"\b(?:eu|meu|minha|meus|minhas|me|mim|nosso|nossa)\b"),
    addressed=rx(r"\b(?:você|vocês|te|teu|tua)\b"),
    accept=rx(
        r"\b(?:entendi|entendo|faz sentido|ficou claro|agora (?:sim|entendi|está claro)|compreendi|está claro|saquei)\b"
    ),
    unsure=rx(
        r"\b(?:não (?:tenho certeza|entendi|entendo|ficou claro)|confundo|me confundo|confuso|confusa|sempre esqueço|tenho dificuldade)\b"
    ),
    resist=rx(
        r"\b(?:não (?:acredito|concordo|pode ser|me convence|é verdade|estou convencid[oa])|isso (?:está errado|é falso)|duvido)\b"
    ),
    confirm_start=rx(r"(?:exato|exatamente|isso mesmo|sim|correto|certo|perfeito|isso)\b(?!,? mas)"),
    deny_start=rx(r"(?:não|quase|cuidado|na verdade|incorreto|nem sempre|sim, mas)\b"),
    negation=rx(r"\b(?:não|nunca|nenhum\w*|nada|sem|jamais|nem)\b"),
    kinds=(
        (
            "lesson",
            rx(
                r"\b(?:aprendi que|aprendemos que|lição(?: aprendida)?:|da próxima vez|o erro foi|acontece que|descobrimos que)"
            ),
        ),
        (
            "open_question",
            rx(
                r"\b(?:questão em aberto|em aberto|ainda não (?:sabemos|sei|está claro|decidimos)|falta (?:saber|decidir|confirmar)|precisamos descobrir)\b"
            ),
        ),
        (
            "decision",
            rx(
                r"\b(?:decidimos|decidi|decisão:|escolhemos|escolhi|combinamos|vamos (?:usar|ficar com)|vou (?:usar|ficar com)|optamos por|optei por)"
            ),
        ),
        (
            "working_assumption",
            rx(r"\b(?:supondo|suponho que|supomos que|assumindo|presumo|provavelmente|hipótese|suposição)\b"),
        ),
        (
            "preference",
            rx(
                r"\b(?:prefiro|preferimos|(?:eu )?gosto (?:mais )?de|adoro|odeio|não gosto de|meu \w+ favorito|minha \w+ favorita|aprendo melhor|sempre quero)\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:deve(?:m|mos)?|tem que|têm que|temos que|não (?:pode|podem|podemos|posso)|no máximo|no mínimo|pelo menos|não mais (?:de|que)|orçamento|prazo|até o dia|limite|proibido|obrigatório|alérgic[oa])\b"
            ),
        ),
    ),
    request_start=rx(
        r"(?:você pode|pode(?:ria)?|explique|diga|me (?:ajude|explique|diga|mostre)|o que|como|por que|quando|onde|quem|qual|por favor)\b"
    ),
    never=rx(
        r"\b(?:quero|gostaria de|queria|preciso) (?:\w+ )?(?:saber|entender|aprender|perguntar|ver|ajuda|que você)\b",
        r"\bgosto (?:disso|dessa|desse|da ideia)\b",
    ),
    belief=rx(r"(?:eu )?(?:já )?(?:sei|sabia|aprendi) que\s+"),
    about_self=rx(
        r"(?:eu )?(?:sou|moro|trabalho|estudo|ensino|tenho (?:um|uma|dois|duas|três|\d|alergia)|toco|falo|uso|confundo|estou (?:estudando|aprendendo|preparando|trabalhando|escrevendo))\b",
        r"(?:meu|minha|meus|minhas|nosso|nossa) \w+(?: \w+){0,3} (?:é|são|tem|têm|está|estão|mora|custa|usa|foi|era)\b",
        r"(?:nós )?(?:temos|somos|moramos|usamos)\b",
    ),
    owned=rx(r"\b(?:eu|meu|minha|nós|nosso|nossa|temos|somos)\b"),
)

IT = Cues(
    code="it",
    min_chars=28,
    min_words=5,
    lead=rx(
        r"(?:sì|no|ok|certo|esatto|esattamente|allora|bene|benissimo|inoltre|in breve|ciao|grazie|perfetto|quasi|attenzione|ricorda)(?:,|:|\s[–—-]|[–—]|!)\s*",
        r"(?:e|ma|quindi)\s+(?=[a-zàèéìòù])",
    ),
    question=rx(r"(?:che cosa|cosa|perché|come|quando|dove|chi|qual\w*|quant\w+)\b[^.]*\?$"),
    anaphora_start=rx(
        r"(?:egli|ella|esso|essa|essi|esse|lui|lei|loro|questo|questa|questi|queste|quello|quella|quelli|quelle|ciò|suo|sua|suoi|sue|entrambi|entrambe|lì|qui|così|tale|tali|un altro|un'altra|poi|dopo|allora|quindi|perciò|inoltre|anche|per esempio|ad esempio|in questo|in questa|con questo|il primo|il secondo|la prima|la seconda|lo stesso|la stessa|la risposta|la domanda|il risultato|la differenza|il motivo|i due|le due)\b(?! (?:di|del|della|legge|guerra|che|tra)\b)",
        r"(?:quando|se|perché|come|per|senza|con|in|da) (?:questo|questa|ciò|esso|essa|lui|lei|loro)\b",
        r"(?:è|sono|era|erano|ha|hanno|serve|contiene|può|possono|dipende|significa|permette)\b",
    ),
    deixis=rx(
        r"\b(?:questo esempio|questa domanda|(?:sopra|sotto)[,.]|come (?:detto|visto)|precedentemente|la tua (?:risposta|domanda|idea)|il tuo)\b"
    ),
    meta=rx(
        r"\b(?:vediamo|andiamo|lascia che|ottima domanda|bella domanda|molto bene[!.,]|bravo|brava|la prossima volta|prossimo passo|immagina|pensa a|lezione|posso|spero|hai (?:ragione|detto|capito)|ecco)\b"
    ),
    greeting_start=rx(r"(?:ciao|salve|buongiorno|buonasera|grazie|prego|perfetto|certo)\b[^.]{0,30}[.!]?$"),
    imperative_start=rx(
        r"(?:usa|utilizza|fai|scrivi|leggi|pensa|ricorda|aggiungi|prova|guarda|calcola|confronta|scegli|metti|evita|ripeti|considera|comincia|dividi|moltiplica|non (?:usare|dimenticare|confondere))\b"
    ),
    hedge=rx(
        r"\b(?:forse|probabilmente|magari|potresti|dovresti|puoi|ti consiglio|ti suggerisco|io (?:userei|farei|direi)|sarebbe (?:meglio|bene)|credo che|conviene)\b"
    ),
    first_person=rx(r"\b(?:io|mio|mia|miei|mie|mi|nostro|nostra)\b"),
    addressed=rx(r"\b(?:tu|ti|te|tuo|tua|tuoi|tue)\b"),
    accept=rx(r"\b(?:capisco|capito|ho capito|ha senso|è chiaro|chiaro|adesso capisco|ora è chiaro)\b"),
    unsure=rx(
        r"\b(?:non (?:sono sicur[oa]|capisco|ho capito|mi è chiaro)|confondo|mi confondo|faccio fatica|dimentico sempre)\b"
    ),
    resist=rx(
        r"\b(?:non (?:ci credo|credo|sono d'accordo|sono d’accordo|può essere|mi convince|è vero)|è (?:falso|sbagliato)|ne dubito)\b"
    ),
    confirm_start=rx(r"(?:esatto|esattamente|sì|giusto|corretto|proprio così|perfetto|certo)\b(?!,? ma)"),
    deny_start=rx(r"(?:no|quasi|attenzione|non (?:proprio|esattamente|sempre)|in realtà|sbagliato|sì, ma)\b"),
    negation=rx(r"\b(?:non|mai|nessun\w*|niente|nulla|senza|né)\b"),
    kinds=(
        (
            "lesson",
            rx(
                r"\b(?:ho imparato che|abbiamo imparato|lezione(?: imparata)?:|la prossima volta|l['’]errore (?:è stato|era)|si è scoperto che)"
            ),
        ),
        (
            "open_question",
            rx(
                r"\b(?:questione aperta|domanda aperta|resta da|non (?:sappiamo|so) ancora|dobbiamo ancora (?:decidere|capire|verificare)|ancora da (?:decidere|chiarire))\b"
            ),
        ),
        (
            "decision",
            rx(r"\b(?:abbiamo (?:deciso|scelto|concordato)|ho (?:deciso|scelto)|decisione:|optiamo per|useremo|userò)"),
        ),
        ("working_assumption", rx(r"\b(?:supponiamo|suppongo|supponendo|presumo|ipotesi|probabilmente|assumendo)\b")),
        (
            "preference",
            rx(
                r"\b(?:preferisco|preferiamo|mi piac(?:e|ciono)|adoro|odio|non mi piac(?:e|ciono)|il mio \w+ preferito|la mia \w+ preferita|imparo meglio|voglio sempre)\b"
            ),
        ),
        (
            "constraint",
            rx(
                r"\b(?:deve|devono|dobbiamo|non (?:può|possono|possiamo|posso)|al massimo|almeno|non più di|meno di \d|budget|scadenza|entro il|limite|vietato|obbligatorio|allergic[oa])\b"
            ),
        ),
    ),
    request_start=rx(
        r"(?:puoi|potresti|spiega\w*|dimmi|aiuta\w*|mostra\w*|cosa|come|perché|quando|dove|chi|quale|per favore)\b"
    ),
    never=rx(
        r"\b(?:voglio|vorrei|ho bisogno di) (?:\w+ )?(?:sapere|capire|imparare|chiedere|vedere|aiuto)\b",
        r"\bmi piace (?:questo|questa|l['’]idea|come)\b",
    ),
    belief=rx(r"(?:so|sapevo|ho imparato) (?:già )?che\s+"),
    about_self=rx(
        r"(?:io )?(?:sono (?:un|una|di|allergic[oa]|insegnante|student\w+)|vivo|abito|lavoro|studio|insegno|ho (?:un|una|due|tre|\d)|suono|parlo|uso|confondo|sto (?:studiando|imparando|preparando|lavorando|scrivendo))\b",
        r"(?:il mio|la mia|i miei|le mie|il nostro|la nostra) \w+(?: \w+){0,3} (?:è|sono|ha|hanno|vive|costa|usa|era)\b",
        r"(?:abbiamo (?:un|una|due|tre|\d)|siamo|viviamo|usiamo)\b",
    ),
    owned=rx(r"\b(?:io|mio|mia|noi|nostro|nostra|abbiamo|siamo)\b"),
)

CUES = {"es": widened(ES), "fr": widened(FR), "pt": PT, "it": IT}
