# SPDX-License-Identifier: Apache-2.0
"""Refuses clusters without token authentication: anyone who reaches their ports can run code on them."""
from __future__ import annotations

import ipaddress
import os

from forebay.errors import ConfigError
from forebay.ray._api import ray


def check_cluster(insecure: bool) -> None:
    """Raises ConfigError for a cluster that other machines reach without a token."""
    if insecure or os.environ.get("RAY_AUTH_MODE", "").lower() == "token":
        return
    reached = sorted({node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"] and not _is_loopback(node["NodeManagerAddress"])})
    if reached:
        raise ConfigError(f"insecure: the cluster listens at {', '.join(reached)} and asks for no token, so anybody who reaches its ports can run code on "
                          "every machine of it. Start Ray everywhere with RAY_AUTH_MODE=token, which newer versions do "
                          "by themselves on one machine, or pass insecure=True where only trusted machines reach it",
                          code="config", detail="failed_precondition")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
