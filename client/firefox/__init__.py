"""Firefox as the client, driven over WebDriver BiDi. The packets of its connections are the record of its actions."""
