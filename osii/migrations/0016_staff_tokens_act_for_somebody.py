"""No staff token is left without the account that it acts for, unless it was made to do everything."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("osii", "0015_tokens_act_for_accounts")]

    operations = [
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.CheckConstraint(
                condition=Q(staff=False, unlimited=False, account__isnull=True)
                | Q(staff=True, unlimited=True, account__isnull=True)
                | Q(staff=True, unlimited=False) & (Q(account__isnull=False) | Q(revoked_at__isnull=False)),
                name="api_token_staff_acts_for_somebody",
            ),
        ),
    ]
