"""The one table that says which role may send which request (requirement: one table, every route).

Relations to a run (being on an approval's roster, having started it) are rules of the core.
"""

from __future__ import annotations

from collections.abc import Collection

ROLES: tuple[str, ...] = ("designer", "publisher", "starter", "approver", "operator", "auditor", "administrator")

MAY: dict[str, frozenset[str]] = {
    "create_draft": frozenset({"designer", "publisher"}),
    "save_draft": frozenset({"designer", "publisher"}),
    "publish": frozenset({"publisher"}),
    "archive": frozenset({"publisher", "administrator"}),
    "unarchive": frozenset({"publisher", "administrator"}),
    "delete_version": frozenset({"administrator"}),
    "restore_draft": frozenset({"designer", "publisher"}),
    "start_run": frozenset({"starter", "operator"}),
    "decide": frozenset({"approver"}),
    "open_link": frozenset({"starter", "approver", "operator"}),
    "withdraw_vote": frozenset({"approver"}),
    "submit_form": frozenset({"starter", "approver", "operator"}),
    "return_form": frozenset({"starter", "approver", "operator"}),
    "send_signal": frozenset({"starter", "operator"}),
    "discard_signal": frozenset({"operator"}),
    "read_signals": frozenset({"operator", "auditor", "administrator"}),
    "pause_run": frozenset({"operator"}),
    "resume_run": frozenset({"operator"}),
    "cancel_run": frozenset({"operator"}),
    "terminate_run": frozenset({"operator"}),
    "retry_step": frozenset({"operator"}),
    "replay_dead_letter": frozenset({"operator"}),
    "read_dead_letters": frozenset({"operator", "auditor", "administrator"}),
    "read_deliveries": frozenset({"operator", "auditor", "administrator"}),
    "retry_delivery": frozenset({"operator", "administrator"}),
    "skip_step": frozenset({"operator"}),
    "confirm_effect": frozenset({"operator"}),
    "deny_effect": frozenset({"operator"}),
    "complete_step": frozenset({"operator"}),
    "reassign_step": frozenset({"operator"}),
    "edit_input": frozenset({"operator"}),
    "migrate_run": frozenset({"operator"}),
    "bulk": frozenset({"operator"}),
    "read_runs": frozenset({"starter", "approver", "operator", "auditor", "administrator", "designer", "publisher"}),
    "read_all_runs": frozenset({"operator", "auditor", "administrator"}),
    "read_definitions": frozenset(ROLES),
    "read_inbox": frozenset(ROLES),
    "upload_file": frozenset({"starter", "approver", "operator"}),
    "read_people": frozenset({"administrator", "auditor"}),
    "set_absence": frozenset(ROLES),
    "revoke_absence": frozenset(ROLES),
    "create_token": frozenset(ROLES),
    "revoke_token": frozenset(ROLES),
    "end_sessions": frozenset(ROLES),
    "touch_token": frozenset(ROLES),
    "save_person": frozenset({"administrator"}),
    "propose_migration": frozenset({"operator", "publisher"}),
    "decide_migration": frozenset({"publisher"}),
    "withdraw_migration": frozenset({"operator", "publisher"}),
    "read_migrations": frozenset({"operator", "publisher", "auditor", "administrator"}),
    "set_limits": frozenset({"administrator"}),
    "read_limits": frozenset({"operator", "auditor", "administrator"}),
    "export_audit": frozenset({"auditor", "administrator"}),
    "hold_run": frozenset({"auditor", "administrator"}),
    "erase_run": frozenset({"administrator"}),
    "set_retention": frozenset({"administrator"}),
    "read_retention": frozenset({"operator", "auditor", "administrator"}),
    "rotate_keys": frozenset({"administrator"}),
    "read_keys": frozenset({"auditor", "administrator"}),
    "rewrap_keys": frozenset({"administrator"}),
}

NOT_BY_TOKEN = frozenset(
    {
        "create_token",
        "revoke_token",
        "set_absence",
        "revoke_absence",
        "end_sessions",
        "touch_token",
        "save_person",
        "open_link",
        "erase_run",
        "set_retention",
        "rotate_keys",
    }
)
"""What no program may do with a token, whatever its account may: it takes a person who signed in."""

INSTALLATION = "default"
"""The tenant whose administrators look after the installation itself: what all tenants share is theirs alone."""


def is_of_installation(tenant: str) -> bool:
    """Whether a tenant's administrators may replace what all tenants share: the key that signs their records."""
    return tenant == INSTALLATION


def permitted(roles: Collection[str]) -> frozenset[str]:
    """Names of the requests that these roles may send."""
    return frozenset(name for name, allowed in MAY.items() if allowed & set(roles))


WORDS = {
    "export_audit": "export audit data",
    "hold_run": "change the legal hold of a run",
    "set_retention": "change how long runs are kept",
    "read_retention": "see how long runs are kept",
    "rotate_keys": "make new keys",
    "read_keys": "see which keys there are",
    "rewrap_keys": "make new keys",
    "propose_migration": "propose a migration plan",
    "decide_migration": "approve or reject a migration plan",
    "withdraw_migration": "withdraw a migration plan",
    "read_migrations": "look at migration plans",
    "set_limits": "set the limits",
    "read_limits": "look at the limits",
    "bulk": "send a command to many runs",
    "decide": "decide an approval",
    "set_absence": "record an absence",
    "revoke_absence": "revoke an absence",
    "return_form": "send work back",
    "complete_step": "complete a step by hand",
    "read_signals": "look at messages",
    "save_person": "change an account",
    "edit_input": "edit a run's input",
    "replay_dead_letter": "replay a dead letter",
    "read_dead_letters": "read the dead letters",
    "open_link": "follow a link",
    "read_inbox": "read an inbox",
    "read_people": "read the list of accounts",
    "end_sessions": "end sessions",
    "read_deliveries": "look at letters that were sent",
    "retry_delivery": "send a letter again",
    "confirm_effect": "say that a call happened",
    "deny_effect": "say that a call did not happen",
}


def words_of(name: str) -> str:
    """What a request does, for a sentence: "skip a step"."""
    verb, _, thing = name.partition("_")
    return WORDS.get(name, f"{verb} {'an' if thing[:1] in 'aeiou' else 'a'} {thing}" if thing else verb)


def who_may(name: str) -> str:
    """The roles that may do it, for a sentence."""
    return " or ".join(sorted(MAY.get(name, frozenset())))
