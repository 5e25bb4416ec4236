"""`signoff letters …`: mail to people and notices to chat tools: setting up, looking, sending again."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Annotated

import typer

from signoff.cli.context import (
    DEFAULT_DATA,
    TENANT,
    As,
    Data,
    Json,
    actor,
    connected,
    save_settings,
    settings_file,
)
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.connectors.post import HookPost, NotSent
from signoff.errors import ConfigurationFault
from signoff.runtime.letters import mail
from signoff.runtime.notice_settings import (
    DAY_S,
    HookSettings,
    MailSettings,
    NoticeSettings,
    load_notice_settings,
    save_notice_settings,
)
from signoff.runtime.postman import open_post
from signoff.wiring import Settings

app = typer.Typer(no_args_is_help=True, help="Mail to people and notices to chat tools.")
AGAIN = "Start Signoff again for it to count."


@app.command()
@explains_errors
def setup(
    address: Annotated[str, typer.Option("--address", help="Base address of the pages: https://signoff.example.org.")],
    sender: Annotated[str, typer.Option("--sender", help="From: 'Signoff <signoff@example.org>'.")] = "",
    host: Annotated[str, typer.Option("--host", help="Mail server.")] = "",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 587,
    tls: Annotated[str, typer.Option("--tls", help="starttls, implicit, or none (on this machine).")] = "starttls",
    user: Annotated[str, typer.Option("--user")] = "",
    password: Annotated[str, typer.Option("--password", help="env:NAME or file:/path, never itself.")] = "",
    folder: Annotated[str, typer.Option("--folder", help="Write .eml files there instead of sending.")] = "",
    values: Annotated[bool, typer.Option("--values", help="Show in mails what approvers are shown.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Mail may travel to another machine without TLS.")] = False,
    link_days: Annotated[float, typer.Option("--link-days", help="How long a link is good.", min=0.01)] = 7.0,
    tell_requester: Annotated[bool, typer.Option("--tell-requester/--no-tell-requester")] = True,
    data: Data = DEFAULT_DATA,
) -> None:
    """Set up mail with links. What is set up for chat tools stays."""
    if password and not password.startswith(("env:", "file:")):
        raise ConfigurationFault("A password is given as env:NAME or file:/path.", remedy="Write a reference to it.")
    if not settings_file(data).exists():
        save_settings(Settings(data))
    own = MailSettings(host, port, tls, user, password, sender or MailSettings().sender, folder, values, plain)
    hooks = load_notice_settings(data).hooks
    settings = NoticeSettings(address.rstrip("/"), own, hooks, tell_requester, link_days * DAY_S)
    save_notice_settings(data, settings)
    say(f"Mail is set up. {AGAIN}")


@app.command()
@explains_errors
def hook(
    name: Annotated[str, typer.Argument(help="Your own name of it.")],
    url: Annotated[str, typer.Option("--url", help="Incoming address of the chat tool, or env:NAME.")] = "",
    secret: Annotated[str, typer.Option("--secret", help="env:NAME or file:/path: signs what is sent.")] = "",
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Such as approval.opened; all if none.")] = None,
    allow_host: Annotated[bool, typer.Option("--allow-host", help="The host is inside your network.")] = False,
    address: Annotated[str, typer.Option("--address", help="Base address of the pages, where not set yet.")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Send nothing there any more.")] = False,
    data: Data = DEFAULT_DATA,
) -> None:
    """Send notices to a chat tool: plain addresses that need signing in, never personal links."""
    old = load_notice_settings(data)
    hooks = [h for h in old.hooks if h.name != name]
    if not remove:
        hooks.append(HookSettings(name, url, secret, tuple(topic or ()), allow_host))
    public = address.rstrip("/") or old.public_address
    save_notice_settings(data, NoticeSettings(public, old.mail, tuple(hooks), old.tell_requester, old.link_s))
    say(f"'{name}' is {'removed' if remove else 'set up'}. {AGAIN}")


@app.command("test")
@explains_errors
def send_test(
    to: Annotated[str, typer.Option("--to", help="Address, or name of a chat tool.")], data: Data = DEFAULT_DATA
) -> None:
    """Send one test mail, or one test notice."""
    settings, now = load_notice_settings(data), datetime.now(UTC)
    facts = {
        "topic": "run.ended", "message_id": secrets.token_hex(16), "name": "", "email": to, "title": "Test of Signoff",
        "zone": "UTC", "requester": "you", "status": "succeeded", "run_id": "r-test", "step": "",
    }  # fmt: skip
    try:
        for h in settings.hooks:
            if h.name == to:
                HookPost(h.url, h.secret).send(
                    {"text": "Test of Signoff", "topic": "test"}, "test", int(now.timestamp())
                )
                say("Sent.")
                return
        post = open_post(settings, data)
        if post is None or settings.mail is None:
            raise ConfigurationFault("No mail is set up.", remedy="Use `signoff letters setup`.")
        post.send(mail(facts, settings.mail.sender, settings.public_address, "", now))
    except NotSent as error:
        raise ConfigurationFault(str(error), remedy="Mend it, then test again.") from None
    say("Sent.")


@app.command("list")
@explains_errors
def list_letters(
    status: Annotated[str, typer.Option("--status", help="pending, sent, moot or dead.")] = "",
    run_id: Annotated[str, typer.Option("--run")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List letters, the newest first; dead ones were given up."""
    with connected(data) as signoff:
        page = signoff.queries.list_deliveries(TENANT, status=status, run_id=run_id, limit=limit)
    if as_json:
        print_json(page)
        return
    rows = [
        (d.id, d.topic, d.run_id, d.step, d.login or d.sink, d.status, d.tries, d.error, d.created_at)
        for d in page.items
    ]
    columns = ("letter", "about", "run", "step", "to", "status", "tries", "what happened", "since (UTC)")
    print_table(columns, rows, "There are no such letters.")


@app.command()
@explains_errors
def retry(
    number: Annotated[int, typer.Argument(help="Number of the letter.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it goes into the audit trail.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Send a letter again that was given up; it gets a new link."""
    with connected(data) as signoff:
        signoff.do("retry_delivery", actor(login), TENANT, id=number, reason=reason)
    say(f"Letter {number} is sent again.")
