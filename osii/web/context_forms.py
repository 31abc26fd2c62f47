"""The form of the page that explains a context: a topic, whose knowledge, within which budget."""

from django import forms
from django.db.models.functions import Lower

from coverage.models import GRAPH_CONTEXT_DEFAULT, GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP, Learner
from graphctx.steers import TOPIC_CHARACTERS

BUDGETS = [(tokens, f"{tokens:,} tokens") for tokens in range(0, GRAPH_CONTEXT_MAX_TOKENS + 1, GRAPH_CONTEXT_STEP)]


class ContextForm(forms.Form):
    """What a new chat on ``topic`` would be given. The state is in the URL, so an explanation can be linked to."""

    topic = forms.CharField(
        max_length=TOPIC_CHARACTERS,
        widget=forms.Textarea(
            attrs={"rows": 2, "class": "form-control form-control-sm", "data-shortcut": "/", "dir": "auto"}
        ),
    )
    learner = forms.ModelChoiceField(
        Learner.objects.order_by(Lower("name"), "name"),
        empty_label=None,
        widget=forms.Select(attrs={"class": "form-select form-select-sm"}),
    )
    budget = forms.TypedChoiceField(
        choices=BUDGETS,
        coerce=int,
        initial=GRAPH_CONTEXT_DEFAULT,
        widget=forms.Select(attrs={"class": "form-select form-select-sm"}),
    )

    def clean_topic(self) -> str:
        topic = self.cleaned_data["topic"]
        # What cannot be stored as a message can be no topic either.
        if any("\ud800" <= char <= "\udfff" or char == "\0" for char in topic):
            raise forms.ValidationError("This text holds characters that cannot be stored.")
        return topic
