"""Evidence is immutable, but for whether it is live."""

from django.db import migrations

from coverage.guards import guard


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0001_initial"), ("coverage", "0002_ledger_rules")]

    operations = [guard("graphctx_instance", "live")]
