# SPDX-License-Identifier: Apache-2.0
"""Ray's names, whose types differ from one version to the next."""
from __future__ import annotations

from typing import Any

import ray as _ray
import ray.exceptions as _exceptions

ray: Any = _ray
exceptions: Any = _exceptions
