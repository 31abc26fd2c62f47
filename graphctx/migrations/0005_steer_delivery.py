"""How a steer was delivered, and that what a client was given does not change."""

from django.db import migrations, models

GUARD = """
CREATE FUNCTION graphctx_steer_given() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.text, NEW.tokens, NEW.count, NEW.items, NEW.topic, NEW.budget, NEW.chat_id)
        IS DISTINCT FROM (OLD.text, OLD.tokens, OLD.count, OLD.items, OLD.topic, OLD.budget, OLD.chat_id)
        OR NEW.status NOT IN ('offered', 'delivered')
        OR (OLD.status = 'delivered' AND (NEW.status, NEW.offered_at, NEW.offered_turn, NEW.offered_after, NEW.delivered_at)
            IS DISTINCT FROM (OLD.status, OLD.offered_at, OLD.offered_turn, OLD.offered_after, OLD.delivered_at)) THEN
        RAISE EXCEPTION 'steer %: what a client was given does not change', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER graphctx_steer_given BEFORE UPDATE ON graphctx_steer
    FOR EACH ROW WHEN (OLD.status IN ('offered', 'delivered')) EXECUTE FUNCTION graphctx_steer_given();
"""
UNDO = "DROP TRIGGER graphctx_steer_given ON graphctx_steer; DROP FUNCTION graphctx_steer_given();"


class Migration(migrations.Migration):
    dependencies = [
        ("coverage", "0004_firmer_guards"),
        ("graphctx", "0004_evidence_agrees"),
    ]

    operations = [
        migrations.AddField(
            model_name="steer",
            name="offered_after",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="steer",
            name="offered_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="steer",
            name="offered_turn",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="steer",
            name="offers",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="steer",
            name="requested_by",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddConstraint(
            model_name="steer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ("ready", "offered", "delivered")), _negated=True),
                    models.Q(("text", ""), _negated=True),
                    _connector="OR",
                ),
                name="steer_offers_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="steer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ("offered", "delivered")), _negated=True),
                    ("offered_at__isnull", False),
                    _connector="OR",
                ),
                name="offered_steer_says_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="steer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delivered_at__isnull", False), ("status", "delivered")),
                    models.Q(models.Q(("status", "delivered"), _negated=True), ("delivered_at__isnull", True)),
                    _connector="OR",
                ),
                name="delivered_steer_says_when",
            ),
        ),
        migrations.RunSQL(GUARD, UNDO),
    ]
