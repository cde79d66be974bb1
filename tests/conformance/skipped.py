# SPDX-License-Identifier: Apache-2.0
"""Operations of vectors that are not built yet, each with the reason. Vectors of all others must pass."""

from __future__ import annotations

SKIPPED: dict[str, str] = {}
