"""Questions as notebooks, and what they share."""
