# SPDX-License-Identifier: BSD-2-Clause
"""One browser for all tests that look at pages."""

import pytest

from browser import Browser


@pytest.fixture(scope="session")
def browser():
    browser = Browser()
    yield browser
    browser.close()
