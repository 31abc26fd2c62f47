"""How a run is executed: leased, planned in batches, ended or handed back."""
