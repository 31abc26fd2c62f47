"""Facts from explanations: what is kept, how it is worded, and everything that is left out."""

import pytest

from tests.extraction.claims_helpers import drafts, explained


@pytest.mark.parametrize(
    "sentence",
    [
        "Photosystem II splits two water molecules into four protons, four electrons and one molecule of oxygen.",
        "Inflation is a sustained rise in the general price level.",
        "Louis XVI summoned the Estates-General to approve new taxes.",
        "There are three types of rock: igneous, sedimentary and metamorphic.",
        "Leaves look green because chlorophyll absorbs red and blue light strongly.",
        "When people expect prices to fall, they postpone purchases.",
        "Plants that live in deserts often have thick, waxy leaves.",
        "Doubling the distance lowers the sound level by 6 decibels.",
        "Your heart pumps about five litres of blood per minute.",
        "Most breakdowns on bicycle tours are punctures or a broken chain.",
        "Green light penetrates deeper into a leaf than red light does.",
    ],
)
def test_general_statements_are_kept_word_for_word(sentence: str) -> None:
    (draft,) = drafts(("assistant", sentence))
    assert (draft.kind, draft.claim, draft.understanding) == ("fact", sentence, "not_yet_engaged")
    assert draft.evidence[0].quote == sentence


@pytest.mark.parametrize(
    "text",
    [
        "What gas do plants take in?",
        "Great question! Let me explain how plants eat.",
        "In this lesson we look at the Calvin cycle and its enzymes.",
        "Hello! How can I help you today with your biology course?",
        "Take a short break and read the chapter about respiration.",
        "Multiply the length by the width to get the area of the field.",
        "To convert the value, multiply it by the number of seconds in an hour.",
        "It absorbs red and blue light and reflects the green part.",
        "These two reactions depend on the temperature of the leaf.",
        "They release energy that the cell can use for growth.",
        "Because of this, the rate of the reaction doubles every hour.",
        "The first one is faster than the others in bright light.",
        "The margin is now 28 dB at the receiver in the clubhouse.",
        "You should probably use a smaller tank for your house.",
        "I'd recommend PostgreSQL for a project of that size.",
        "Maybe the temperature of the water explains the difference.",
        "Your answer about the mitochondria was almost right.",
        "The search returned no usable opening hours for today.",
        "Sounds like a sensible plan for the next three weeks!",
        "Stomata, guard cells and the cuticle.",
        "Lists can't, since they are not hashable.",
        "There is a more serious problem than the p-value.",
        "Well done, that was quick and completely right this time.",
        "Plants need light, water and",
        "Plants need three things:",
        "See https://example.org/plants for all the details on plants.",
        "`for (i = 0; i < n; i++) { sum += a[i]; }` adds the numbers.",
    ],
)
def test_talk_advice_fragments_and_what_points_elsewhere_are_not_facts(text: str) -> None:
    assert explained(text) == []


def test_code_quotations_tables_headings_and_pasted_text_are_silent() -> None:
    text = (
        "# Plants contain chlorophyll in every single leaf.\n\n"
        "> A quoted plant contains more sugar than a leaf.\n\n"
        "| Plants | contain sugar in their leaves. |\n\n"
        "```\nA comment says that plants contain sugar.\n```\n\n"
        '<document name="x">A pasted plant contains starch in its roots.</document>\n\n'
        "Roots take up water from the soil.\n"
    )
    assert explained(text) == ["Roots take up water from the soil."]


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("So, photorespiration costs energy in C3 plants.", "Photorespiration costs energy in C3 plants."),
        ("Remember that roots take up water from the soil.", "Roots take up water from the soil."),
        ("Exactly: a stoma is a pore in the surface of the leaf.", "A stoma is a pore in the surface of the leaf."),
        ("Note: **rubisco** is the enzyme that fixes carbon dioxide.", "Rubisco is the enzyme that fixes carbon dioxide."),
        ("1. A stoma is a pore in the surface of the leaf", "A stoma is a pore in the surface of the leaf."),
        ("- **Xylem** – carries water from the roots to the leaves", "Xylem carries water from the roots to the leaves."),
        ("- **Stroma**: the fluid inside the chloroplast", "Stroma is the fluid inside the chloroplast."),
        ("- Tundra: Summers in the tundra are short and cool.", "Summers in the tundra are short and cool."),
        ("Read [the page](http://x.example/y) first. `len()` returns the length of a list.", "len() returns the length of a list."),
        ("At night your house needs about 3 kW of heat on average.", "At night the learner's house needs about 3 kW of heat on average."),
        ("Roots take up water\nfrom the surrounding soil.", "Roots take up water from the surrounding soil."),
    ],
)  # fmt: skip
def test_leads_marks_terms_and_the_addressed_learner_are_put_right(text: str, claim: str) -> None:
    (draft,) = drafts(("assistant", text))
    assert draft.claim == claim
    assert draft.evidence[0].quote in text


def test_it_is_resolved_only_where_the_sentence_before_defines_its_subject() -> None:
    assert "Chlorophyll absorbs red and blue light." in explained(
        "Chlorophyll is a green pigment. It absorbs red and blue light."
    )
    assert explained("Chlorophyll is a green pigment.\n\nIt absorbs red and blue light.") == [
        "Chlorophyll is a green pigment."
    ]
    assert len(explained("Plants are organisms that make sugar. It depends on the light in the room.")) == 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Eine private Haftpflichtversicherung deckt Schäden, die man anderen zufügt. Das ist wichtig zu wissen.", 1),
        ("In jeder Durtonleiter liegen die Halbtonschritte zwischen der 3. und 4. sowie der 7. und 8. Stufe.", 1),
        ("Júpiter es el planeta más grande del sistema solar. Por eso es el más pesado. ¿Quieres saber más?", 1),
        ("Le levain contient des levures sauvages et des bactéries. Je vous conseille une farine blanche.", 1),
        ("O oídio é um fungo que forma uma camada branca sobre as folhas. Ele cresce rápido no calor úmido.", 1),
        ("L'arco trasforma il peso in forze di compressione che scendono. Questo è molto importante per noi.", 1),
        ("煎茶は70度から80度のお湯でいれると、苦みがおさえられます。それは大切なことです。試してみてください。", 1),
        ("光合作用在叶绿体中进行。这个过程需要光。让我们做一道小测验吧。", 1),
        ("Напряжение одного элемента составляет около 3,2 вольта. Это важно помнить при зарядке.", 1),
        ("تنخفض سرعة التبخر عندما تكون رطوبة الهواء عالية. هل تريد مثالا على ذلك؟", 1),
    ],
)
def test_other_languages_keep_their_declarative_sentences(text: str, kept: int) -> None:
    found = explained(text)
    assert len(found) == kept
    assert text.startswith(found[0])
