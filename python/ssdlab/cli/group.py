"""A group of commands, for Typer."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup


class Group(TyperGroup):
    """Group of commands, which alone shows its help and succeeds: nothing was asked for, and nothing went wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Shows the help where no command is given."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)
