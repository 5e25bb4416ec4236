"""`signoff demo`: set up once, then run everything on loopback."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Annotated

import typer

from signoff.cli.commands.serve import (
    MODULE,
    Port,
    children_of,
    configure_logging,
    port_is_free,
    process_app,
)
from signoff.cli.context import load_settings, save_settings
from signoff.cli.demo.people import PASSWORD, PEOPLE
from signoff.cli.demo.seed import seed
from signoff.cli.demo.service import make_server
from signoff.cli.output import explains_errors, say
from signoff.errors import ConfigurationFault, SignoffError
from signoff.runtime.folder import load_tokens
from signoff.runtime.lock import EngineLock
from signoff.runtime.notice_settings import MailSettings, NoticeSettings, save_notice_settings
from signoff.runtime.supervisor import Supervisor, python_child, until_told_to_stop
from signoff.wiring import Settings, start_engine

HOST = "127.0.0.1"
SEEDED = "demo.seeded"
MAILS = "mails"


@process_app.command("demo-service")
@explains_errors
def service_process(port: Port = 8601, mails: Annotated[Path | None, typer.Option("--mails")] = None) -> None:
    """The service that the demo's activities call; it also shows the mails that the demo would send."""
    configure_logging()
    stop = until_told_to_stop()
    server = make_server(port, mails=mails)
    threading.Thread(target=server.serve_forever, name="demo-service", daemon=True).start()
    stop.wait()
    server.shutdown()
    server.server_close()


@explains_errors
def demo(
    data: Annotated[Path, typer.Option("--data", help="Data folder of the demo.")] = Path(".demo"),
    port: Port = 8600,
    workers: Annotated[int, typer.Option("--workers", min=1, max=16)] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away what an earlier demo left.")] = False,
) -> None:
    """Start Signoff with fictional people, ready-made processes and some runs."""
    configure_logging()
    for needed in (port, port + 1):
        if not port_is_free(HOST, needed):
            raise ConfigurationFault(f"Port {needed} is in use.", remedy="Stop what uses it, or give another --port.")
    _refuse_a_running_one(data)
    if fresh and (data / SEEDED).exists():
        shutil.rmtree(data)
    settings = Settings(data, demo_address=f"http://{HOST}:{port + 1}")
    first = not (data / SEEDED).exists()
    save_settings(settings)
    load_tokens(data)
    mails = MailSettings(folder=MAILS, sender="Signoff demo <signoff@demo.invalid>", values=False)
    save_notice_settings(data, NoticeSettings(f"http://{HOST}:{port}", mails))
    if first:
        _people(settings)
    options = ("--port", str(port + 1), "--mails", str(data / MAILS))
    service = python_child("demo service", MODULE, "process", "demo-service", *options)
    web = ("--host", HOST, "--port", str(port), "--demo")
    supervisor = Supervisor([service, *children_of(data, workers, web)])
    until_told_to_stop(supervisor.stop)
    supervisor.start()
    ready = threading.Thread(target=_get_ready, args=(settings, port, first), name="demo-seed", daemon=True)
    ready.start()
    supervisor.run()


def _refuse_a_running_one(data: Path) -> None:
    """A demo whose engine runs is left alone, `--fresh` or not."""
    if data.exists():
        lock = EngineLock(data)
        lock.acquire(0.0, threading.Event())
        lock.release()


def _people(settings: Settings) -> None:
    running = start_engine(settings, services=False)
    try:
        for p in PEOPLE:
            running.save_person(
                p.login, name=p.name, roles=p.roles, groups=p.groups, password=PASSWORD, email=f"{p.login}@demo.invalid"
            )
    finally:
        running.close()


def _get_ready(settings: Settings, port: int, first: bool) -> None:
    try:
        if first:
            say("Setting up the demo …")
            seed(load_settings(settings.folder))
            (settings.folder / SEEDED).touch()
        _wait_for_web(port)
    except SignoffError as error:
        say(f"The demo could not be set up completely: {error}")
    names = ", ".join(p.login for p in PEOPLE)
    say("")
    say(f"  Signoff demo:   http://{HOST}:{port}")
    say(f"  Sign in as one of {names}; the password is '{PASSWORD}'.")
    say(f"  The service that activities call, with switches to make it fail: http://{HOST}:{port + 1}")
    say(f"  The mails that people would get, with their links: http://{HOST}:{port + 1}/mails")
    say("  Stop with Ctrl-C.")


def _wait_for_web(port: int) -> None:
    pause = threading.Event()
    for _ in range(600):
        if not port_is_free(HOST, port):
            return
        pause.wait(0.1)
