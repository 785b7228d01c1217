"""What a page asks for and complains of, in a browser of the fixture `browser`."""

from __future__ import annotations

from typing import Any


def watched(page: Any) -> tuple[list[str], list[str]]:
    """Requests and complaints of the page from now on: both lists grow while it is used."""
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    return requests, complaints
