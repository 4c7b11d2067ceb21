"""WebKitGTK as the client, driven over WebDriver. The packets of its connections are the record of its actions."""
