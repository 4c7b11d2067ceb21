"""Programs and processes of this machine: finding them, their words, locks, and how they end."""
