# SPDX-License-Identifier: Apache-2.0
"""A local page that shows the rows, the plan and the health of a pipeline (docs/view.md)."""
from __future__ import annotations

from forebay._view.view import View

__all__ = ["View"]
