# SPDX-License-Identifier: Apache-2.0
"""Conversions of data sets: inputs.py reads, outputs.py writes, convert.py divides the rows among files."""
