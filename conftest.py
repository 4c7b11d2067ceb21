"""Names the fixtures and hooks of all tests, wherever they stand."""

pytest_plugins = ["tests.support.fixtures", "tests.support.guest_fixtures"]
