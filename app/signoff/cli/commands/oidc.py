"""`signoff oidc …`: the provider at which people sign in."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, Data, save_settings, settings_file
from signoff.cli.output import explains_errors, say
from signoff.connectors.oidc import OidcSettings, Provider
from signoff.engine.permissions import ROLES
from signoff.errors import InvalidInput
from signoff.runtime.oidc_settings import FILE, load_oidc_settings, save_oidc_settings
from signoff.wiring import Settings

app = typer.Typer(no_args_is_help=True, help="Signing in at an OpenID provider (needs the extra 'oidc').")


@app.command()
@explains_errors
def setup(
    issuer: Annotated[str, typer.Option("--issuer", help="As the provider writes it.")],
    client_id: Annotated[str, typer.Option("--client-id")],
    address: Annotated[str, typer.Option("--address", help="Base address of the pages.")],
    client_secret: Annotated[str, typer.Option("--client-secret", help="env:NAME or file:/path.")] = "",
    name: Annotated[str, typer.Option("--name", help="What the button says.")] = "Single sign-on",
    login_claim: Annotated[str, typer.Option("--login-claim")] = "preferred_username",
    groups_claim: Annotated[str, typer.Option("--groups-claim")] = "groups",
    role: Annotated[list[str] | None, typer.Option("--role", help="THEIR-GROUP=ROLE; may be repeated.")] = None,
    group: Annotated[list[str] | None, typer.Option("--group", help="THEIR-GROUP=GROUP; may be repeated.")] = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """Let people sign in at a provider; its groups say what they may and who they are here."""
    if client_secret and not client_secret.startswith(("env:", "file:")):
        raise InvalidInput("A secret is given as env:NAME or file:/path.", remedy="Write a reference to it.")
    if not settings_file(data).exists():
        save_settings(Settings(data))
    roles: dict[str, tuple[str, ...]] = {}
    for theirs, ours in _pairs(role or []):
        if ours not in ROLES:
            raise InvalidInput(f"There is no role '{ours}'.", remedy=f"Roles: {', '.join(ROLES)}.")
        roles[theirs] = (*roles.get(theirs, ()), ours)
    settings = OidcSettings(
        issuer, client_id, address.rstrip("/"), client_secret, name, login_claim=login_claim,
        groups_claim=groups_claim, roles=roles, groups=dict(_pairs(group or [])),
    )  # fmt: skip
    save_oidc_settings(data, settings)
    say(f"Set up; start Signoff again. The provider must allow {settings.redirect_uri}.")


@app.command()
@explains_errors
def check(data: Data = DEFAULT_DATA) -> None:
    """Ask the provider about itself."""
    settings = load_oidc_settings(data)
    if settings is None:
        raise InvalidInput("No provider is set up.", remedy="Use `signoff oidc setup`.")
    Provider(settings).begin()
    say(f"{settings.issuer} answers.")


@app.command()
@explains_errors
def remove(data: Data = DEFAULT_DATA) -> None:
    """Nobody signs in there any more; accounts stay."""
    (data / FILE).unlink(missing_ok=True)
    say("Removed; start Signoff again.")


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    found = []
    for text in given:
        theirs, equals, ours = text.rpartition("=")
        if not equals or not theirs or not ours:
            raise InvalidInput(f"'{text}' is not written THEIR-GROUP=OURS.", remedy="Correct it.")
        found.append((theirs, ours))
    return found
