# SPDX-License-Identifier: Apache-2.0
"""What belongs to `inspect` and is not needed by every program."""
