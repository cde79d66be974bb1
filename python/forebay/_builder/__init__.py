# SPDX-License-Identifier: Apache-2.0
"""The generated methods of forebay.builder.Pipeline, a class for each kind of plug-in."""
